"""Sources of commits, found by entry point like those of a third party.

git             a clone of the user's, and its remote
git_history     reading a repository            git_mirror      our copy of it
git_program     how git is started              git_submodules  the submodules that a commit pins
hg              the same for Mercurial          hg_program      how hg is started
releases        versions of a Python package, which play the commits
commit_names    names of commits as people type them
folders         filled whole or not at all      tool_errors     how git and hg fail
"""
