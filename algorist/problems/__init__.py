"""Problems as users give them: in command lines, in files and in the forms of a page."""
