"""The interpreter's side of Python scripts: a confined process that runs the scripts of one caller.

What belongs here: the frames to and from the host, SDK, and how a script is compiled, run and answered for.
Not here: the meaning of calls, which is the host's; anything that has to be trusted once a script has begun.
"""
