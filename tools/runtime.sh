# Sourced with $root set: makes node_modules fit package-lock.json and sets $runtime to Node.js 24.
stamp=$root/node_modules/.installed-lock.json
if ! cmp -s "$root/package-lock.json" "$stamp"; then
  echo 'Installing packages…' >&2
  (cd "$root" && npm ci --no-audit --no-fund --loglevel=error >&2)
  cp "$root/package-lock.json" "$stamp"
fi
runtime=$root/node_modules/.bin/node
if [ ! -x "$runtime" ]; then
  # No pinned runtime is published for this platform: the machine's own will do when it is new enough.
  runtime=$(command -v node)
  case $("$runtime" --version) in
    v2[4-9].* | v[3-9][0-9].*) ;;
    *)
      echo "Waypost needs Node.js 24 or newer on this platform; $runtime is $("$runtime" --version)" >&2
      exit 1
      ;;
  esac
fi
