"""The modules of the standard library that scripts usually import: loaded once, before a process forks for scripts."""

import sys

sys.modules["ssl"] = None  # type: ignore[assignment]  # asyncio does without it: scripts have no network
import asyncio

del sys.modules["ssl"]

import abc
import argparse
import array
import base64
import bisect
import calendar
import collections
import concurrent.futures
import concurrent.futures.thread
import contextlib
import copy
import csv
import dataclasses
import datetime
import decimal
import difflib
import enum
import fractions
import functools
import hashlib
import heapq
import html
import inspect
import io
import itertools
import json
import logging
import math
import operator
import pathlib
import pprint
import random
import re
import secrets
import statistics
import string
import struct
import tempfile
import textwrap
import threading
import time
import traceback
import types
import typing
import unicodedata
import urllib.parse
import uuid
import zlib
import zoneinfo
