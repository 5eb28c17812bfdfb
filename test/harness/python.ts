/** Returns a shell command that prints a Python with this module: Debian's packages are not visible to every python3 in the path. */
export const pythonWith = (module: string) =>
  `for python in python3 /usr/bin/python3; do "$python" -c 'import ${module}' 2>/dev/null && echo "$python" && exit; done; exit 1`
