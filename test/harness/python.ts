/** A shell command that prints the Python which has a module: the first in the path need not be the one that Debian's packages are for. */
export const pythonWith = (module: string) =>
  `for python in python3 /usr/bin/python3; do "$python" -c 'import ${module}' 2>/dev/null && echo "$python" && exit; done; exit 1`
