# Source this file with $root set. It installs the packages of package-lock.json and sets $runtime to Node.js 24.
stamp=$root/node_modules/.installed-lock.json
runtime=$root/node_modules/.bin/node

install_packages() {
  echo 'Installing packages (about 160 MB the first time)…' >&2
  (cd "$root" && npm ci --no-audit --no-fund --loglevel=error >&2)
  cp "$root/package-lock.json" "$stamp"
}

is_new_enough() {
  case $("$1" --version 2>/dev/null) in
    v2[4-9].* | v[3-9][0-9].*) true ;;
    *) false ;;
  esac
}

cmp -s "$root/package-lock.json" "$stamp" || install_packages
if ! is_new_enough "$runtime"; then
  # No package with Node.js exists for this system: use the installed Node.js if it is new enough.
  machine=$(command -v node)
  if is_new_enough "$machine"; then
    runtime=$machine
  else
    install_packages # the package may have been removed
    is_new_enough "$runtime" || {
      echo "Waypost needs Node.js 24 or newer on this platform; $machine is $("$machine" --version)" >&2
      exit 1
    }
  fi
fi
