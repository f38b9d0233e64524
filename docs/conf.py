"""The documentation site: ``sphinx-build -W --keep-going docs docs/_build``; nothing is fetched."""

import logging
import warnings

from dpsparse import NotPrivateWarning, __version__

project = "dpsparse"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build", "gallery", "reproduction/verdicts.md"]
# Some pages are listed by a pattern, so that they may be missing; Sphinx gives this warning no name to suppress it by.
logging.getLogger("sphinx.sphinx.directives.other").addFilter(lambda record: "glob pattern" not in record.msg)

myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

default_role = "literal"
autosummary_generate = True
templates_path = ["_templates"]
numpydoc_show_class_members = False
# The parameters' own documentation states their types, and signatures stay short.
autodoc_typehints = "none"
add_module_names = False
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": ["gallery/tutorials", "gallery/explanation"],
    "gallery_dirs": ["tutorials", "explanation"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}
# The pages that fit with a seed say so themselves.
warnings.simplefilter("ignore", NotPrivateWarning)

html_theme = "pydata_sphinx_theme"
html_title = "dpsparse"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_sidebars = {"index": [], "glossary": []}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
}
