"""The steps of a pursuit. Each says which releases it plans, and makes them: from data and a state a new state.

No step knows another one. Which steps a fit has, and in which order, is in `schedule.steps_of`.
"""
