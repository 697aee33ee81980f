# Sourced by tests in bash: runs commands and compares how they end. `failures` counts; the output of the last command is in the file "output" of the current
# folder.
failures=0

# expect <what> <exit status> <text, or one that must not appear after "no:"> <command>…
expect() {
  local what="$1" wanted="$2" text="$3" status=0 found=yes
  shift 3
  "$@" >output 2>&1 || status=$?
  case "$text" in
    no:*) if grep -qF -- "${text#no:}" output; then found=no; fi ;;
    *) grep -qF -- "$text" output || found=no ;;
  esac
  if [[ "$status" == "$wanted" && "$found" == yes ]]; then
    printf 'ok    %s\n' "$what"
  else
    printf 'FAIL  %s: exit status %d, expected %d and "%s"\n' "$what" "$status" "$wanted" "$text"
    sed 's/^/      /' output
    failures=$((failures + 1))
  fi
}
