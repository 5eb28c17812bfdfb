/**
 * Returns a shell command that prints the path of a Python that has this module. The first python3 of PATH may be a Python without the
 * packages of Debian.
 */
export const pythonWith = (module: string) =>
  `for python in python3 /usr/bin/python3; do "$python" -c 'import ${module}' 2>/dev/null && echo "$python" && exit; done; exit 1`
