"""Files in and out: tables, public bounds, fitted models. Whatever is read is checked; whatever is written is whole."""
