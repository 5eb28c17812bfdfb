# Source this file with $root set. It installs the packages of package-lock.json and sets $runtime to Node.js 24. $packages is `all` for
# tests and tools, and `runtime` for the platform, which needs no development packages.
stamp_all=$root/node_modules/.installed-lock.json
stamp_runtime=$root/node_modules/.installed-runtime-lock.json
runtime=$root/node_modules/.bin/node

is_installed() {
  cmp -s "$root/package-lock.json" "$stamp_all" ||
    { [ "$packages" = runtime ] && cmp -s "$root/package-lock.json" "$stamp_runtime"; }
}

install_packages() {
  if [ "$packages" = runtime ]; then
    echo 'Installing packages (about 130 MB the first time)…' >&2
    (cd "$root" && npm ci --omit=dev --no-audit --no-fund --loglevel=error >&2)
    cp "$root/package-lock.json" "$stamp_runtime"
  else
    echo 'Installing packages (about 160 MB the first time)…' >&2
    if cmp -s "$root/package-lock.json" "$stamp_runtime"; then
      # `npm install` only adds packages, so a platform that runs from this folder keeps its packages.
      (cd "$root" && npm install --include=dev --no-save --no-audit --no-fund --loglevel=error >&2)
    else
      (cd "$root" && npm ci --include=dev --no-audit --no-fund --loglevel=error >&2)
    fi
    cp "$root/package-lock.json" "$stamp_all"
  fi
  # Nothing reads the source maps of packages. They are 32 MB, 20 of them of the packages of the console.
  find "$root/node_modules" -type f -name '*.map' -delete
}

is_new_enough() {
  case $("$1" --version 2>/dev/null) in
    v2[4-9].* | v[3-9][0-9].*) true ;;
    *) false ;;
  esac
}

is_installed || install_packages
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
