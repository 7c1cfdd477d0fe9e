"""The page of `algorist view`: net and algorithm side by side, step by step.

`traces` makes plain data of a solution, `pages` one HTML file of the modules in `static`, `app`
answers what the page asks for, and `server` lets nobody but this machine ask.
"""
