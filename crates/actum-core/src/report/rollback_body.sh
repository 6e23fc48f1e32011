set -u
umask 077
LC_ALL=C
export LC_ALL
IFS=' 	
'
unset CDPATH

bad=0
pending=0
touched=0

say() { printf '%s\n' "$1"; }

# What stands in the way of the rollback.
complain() {
  printf '  %s: %s\n' "$1" "$2" >&2
  bad=$((bad + 1))
}

stop() {
  printf '  %s: %s\n' "$1" "$2" >&2
  say "rollback.sh: stopped half-way. What was restored stays; remove the cause and run this again." >&2
  exit 4
}

# Puts the SHA-256 of a file into `sum`.
digest_of() {
  case $tool in
    sha256sum) sum=$(sha256sum <"$1") || return 1; sum=${sum%% *} ;;
    shasum) sum=$(shasum -a 256 <"$1") || return 1; sum=${sum%% *} ;;
    openssl) sum=$(openssl dgst -sha256 <"$1") || return 1; sum=${sum##* } ;;
    *) return 1 ;;
  esac
}

choose_tool() {
  for tool in sha256sum shasum openssl; do
    if command -v "$tool" >/dev/null 2>&1 && digest_of /dev/null 2>/dev/null &&
      [ "$sum" = e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 ]; then
      return 0
    fi
  done
  return 1
}

# Whether a directory on the way to a path is a symbolic link.
is_behind_link() {
  way=.
  rest=${1#./}
  while :; do
    case $rest in
      */*)
        way=$way/${rest%%/*}
        rest=${rest#*/}
        [ ! -h "$way" ] || return 0
        ;;
      *) return 1 ;;
    esac
  done
}

# Puts into `now` what is at a path: `-` for nothing, `d` for a directory, the SHA-256 of a file.
observe() {
  now=other
  is_behind_link "$1" && return 0
  [ ! -h "$1" ] || return 0
  if [ -f "$1" ]; then
    digest_of "$1" 2>/dev/null && now=$sum
  elif [ -d "$1" ]; then
    now=d
  elif [ ! -e "$1" ]; then
    now=-
  fi
  return 0
}

has_mode() { [ -n "$(find "$1" -prune -perm "$2")" ]; }

# PATH SUM MODE: whether the path is so; a mode of `-` is any.
is_now() {
  [ "$now" = "$2" ] || return 1
  [ "$3" = - ] || has_mode "$1" "$3"
}

# PATH SHOWN SUM MODE SUM MODE [between]: the path must be as before the run or as after it, or on the
# way from a directory to a file or back.
expect() {
  observe "$1"
  if is_now "$1" "$3" "$4"; then
    :
  elif is_now "$1" "$5" "$6"; then
    # A directory of the run in which somebody put more stays.
    [ "$3$5" = -d ] && [ -n "$(find "$1" ! -type d)" ] || pending=$((pending + 1))
  elif [ "$3$now" = dd ] || [ "$now${7-}" = -between ]; then
    pending=$((pending + 1))
  else
    case $now in
      other) complain "$2" "is behind or is a symbolic link, or cannot be read" ;;
      -) complain "$2" "is missing" ;;
      d) complain "$2" "is a directory, which the run did not leave there" ;;
      "$3" | "$5") complain "$2" "has another mode than the run left" ;;
      *) complain "$2" "has another content than the run left" ;;
    esac
  fi
}

# FROM TO SHOWN: a file that is moved back must be in one of the two places.
expect_one() {
  if [ ! -e "$1" ] && [ ! -e "$2" ]; then
    complain "$3" "is in neither of the two places that the run knew"
  elif [ -e "$2" ]; then
    pending=$((pending + 1))
  fi
}

# DIRECTORY SHOWN ENTRY...: a directory that has to go holds nothing else.
expect_only() {
  directory=$1
  shown=$2
  shift 2
  if [ ! -d "$directory" ] || [ -h "$directory" ]; then
    return 0
  fi
  known=x
  for entry; do
    [ ! -e "$entry" ] || known=x$known
  done
  [ "$(find "$directory" -exec printf x \;)" = "$known" ] ||
    complain "$shown" "has to go, but holds what the run did not make"
}

# BACKUP SUM
expect_backup() {
  observe "$backups/$1"
  [ "$now" = "$2" ] || complain "$backups/$1" "is missing or is not the backup that was made"
}

# PATH SHOWN SUM
remove_file() {
  observe "$1"
  case $now in
    - | d) return 0 ;;
    "$3") ;;
    *) stop "$2" "changed meanwhile" ;;
  esac
  rm -f -- "$1" || stop "$2" "cannot be removed"
  touched=$((touched + 1))
  say "  removed     $2"
}

# PATH SHOWN
make_directory() {
  [ ! -d "$1" ] || return 0
  mkdir -- "$1" || stop "$2" "cannot be made"
  touched=$((touched + 1))
  say "  made        $2"
}

# FROM TO SHOWN SUM
move_back() {
  observe "$2"
  case $now in
    -) return 0 ;;
    "$4") ;;
    *) stop "$3" "changed meanwhile" ;;
  esac
  observe "$1"
  case $now in
    -)
      mv -f -- "$2" "$1" || stop "$3" "cannot be moved back"
      ;;
    "$4") rm -f -- "$2" || stop "$3" "cannot be moved back" ;;
    *) stop "$3" "changed meanwhile" ;;
  esac
  touched=$((touched + 1))
  say "  moved back  $3"
}

# PATH SHOWN
remove_directory() {
  if [ ! -d "$1" ] || [ -h "$1" ]; then
    return 0
  fi
  if rmdir -- "$1" 2>/dev/null; then
    touched=$((touched + 1))
    say "  removed     $2"
  else
    say "  kept        $2 (there is more in it than the run made)"
  fi
}

# PATH SHOWN SUM MODE SUM BACKUP TEMPORARY
restore_file() {
  observe "$1"
  if is_now "$1" "$3" "$4"; then
    return 0
  fi
  case $now in
    "$5") ;;
    *) stop "$2" "changed meanwhile" ;;
  esac
  rm -f -- "$7" || stop "$2" "cannot be restored"
  cp -- "$backups/$6" "$7" || stop "$2" "cannot be restored"
  chmod "$4" "$7" || stop "$2" "cannot be restored"
  if [ ! -f "$7" ] || [ -h "$7" ] || ! digest_of "$7" || [ "$sum" != "$3" ]; then
    stop "$2" "the copy of its backup is damaged"
  fi
  mv -f -- "$7" "$1" || stop "$2" "cannot be restored"
  touched=$((touched + 1))
  say "  restored    $2"
}

# PATH SHOWN SUM MODE: of a file whose mode alone changed (a sum), or of a directory (`d`).
restore_mode() {
  observe "$1"
  [ "$now" = "$3" ] || stop "$2" "changed meanwhile"
  if has_mode "$1" "$4"; then
    return 0
  fi
  chmod "$4" "$1" || stop "$2" "cannot get its mode back"
  touched=$((touched + 1))
  say "  mode        $2"
}

main() {
  mode=restore
  case $#,${1-} in
    0,) ;;
    1,--check) mode=check ;;
    1,--help | 1,-h)
      say "usage: rollback.sh [--check]"
      say "Puts every file that the run changed back as it was. --check only says whether that can be done."
      exit 0
      ;;
    *)
      say "usage: rollback.sh [--check]" >&2
      exit 2
      ;;
  esac

  case $0 in
    */*) here=${0%/*}/ ;;
    *) here=./ ;;
  esac
  case $here in
    /* | ./* | ../*) ;;
    *) here=./$here ;;
  esac
  if ! cd -P "${here}../../../.." 2>/dev/null || [ ! -f "$report/rollback.sh" ] || [ -h "$report" ]; then
    say "rollback.sh: refused: this script does not lie in $report of a workspace. Nothing was changed." >&2
    exit 1
  fi
  if ! choose_tool; then
    say "rollback.sh: refused: none of sha256sum, shasum and openssl works here. Nothing was changed." >&2
    exit 1
  fi

  expect_all
  if [ "$bad" -gt 0 ]; then
    say "rollback.sh: refused: not as the run left it, in $bad places. Nothing was changed." >&2
    exit 1
  fi
  if [ "$pending" -eq 0 ]; then
    say "rollback.sh: done already: everything is as before the run. Nothing was changed."
    exit 0
  fi
  expect_backups
  if [ "$bad" -gt 0 ]; then
    say "rollback.sh: refused: $bad backups cannot be used. Nothing was changed." >&2
    exit 1
  fi
  if [ "$mode" = check ]; then
    say "rollback.sh: the run can be rolled back. Nothing was changed."
    exit 0
  fi

  restore_all

  pending=0
  expect_all
  if [ "$bad" -gt 0 ] || [ "$pending" -gt 0 ]; then
    say "rollback.sh: not everything is as before the run. Run this again with --check." >&2
    exit 4
  fi
  say "rollback.sh: rolled back in $touched steps; everything is as before the run, as its SHA-256 says."
}
