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
restored=no
synced=yes
unchanged='Nothing was changed.'

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

# Begins the way to a path, whose directories `next_on_way` puts into `way`, one after the other.
begin_way() {
  way=.
  rest=${1#./}
}

next_on_way() {
  case $rest in
    */*)
      way=$way/${rest%%/*}
      rest=${rest#*/}
      ;;
    *) return 1 ;;
  esac
}

# Whether a directory on the way to a path is a symbolic link.
is_behind_link() {
  begin_way "$1"
  while next_on_way; do
    [ ! -h "$way" ] || return 0
  done
  return 1
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

# PATH: whether something is there, be it a link that leads nowhere.
is_taken() { [ -e "$1" ] || [ -h "$1" ]; }

# FILE NAME: gives a file a second name. Fails where anything has that name: nothing is overwritten.
give_name() {
  case $linker in
    link) link "$1" "$2" 2>/dev/null ;;
    # `ln` would put the name into a directory.
    *) ! is_taken "$2" && ln -- "$1" "$2" 2>/dev/null && [ ! -d "$2" ] ;;
  esac
}

# ASIDE PATH: puts back what was moved aside. Fails where something has come to the path since.
put_back() {
  ! is_taken "$2" || return 1
  if [ -h "$1" ]; then
    ln -P -- "$1" "$2" 2>/dev/null && [ -h "$2" ] && rm -f -- "$1"
  elif [ -d "$1" ]; then
    mv -- "$1" "$2"
  else
    give_name "$1" "$2" && rm -f -- "$1"
  fi
}

# PATH: waits until a file, or the names in a directory, are on the disk. Not every `sync` takes a path.
sync_path() {
  sync "$1" 2>/dev/null || sync 2>/dev/null || synced=no
}

# PATH SHOWN SUM ASIDE MODE: moves a file aside. The digest and the mode are those of what was moved, so that a file which
# was saved, or closed to others, after the last look at the path is noticed, and goes back.
move_aside() {
  ! is_taken "$4" || stop "$2" "cannot be moved aside: $4 exists"
  mv -- "$1" "$4" || stop "$2" "cannot be moved aside"
  observe "$4"
  ! is_now "$4" "$3" "$5" || return 0
  give_up "$1" "$2" "$4" "changed meanwhile"
}

# PATH SHOWN ASIDE REASON: stops after a file was moved aside.
give_up() {
  put_back "$3" "$1" || stop "$2" "$4; the file that was there is kept as $3"
  stop "$2" "$4"
}

has_mode() { [ -n "$(find "$1" -prune -perm "$2")" ]; }

# PATH SUM MODE: whether the path is so; a mode of `-` is any.
is_now() {
  [ "$now" = "$2" ] || return 1
  [ "$3" = - ] || has_mode "$1" "$3"
}

# PATH SHOWN SUM ASIDE [FROM [SUM]]: finishes or takes back the step of a script that was killed after it moved a file aside. A
# renamed file has no backup: it is removed only where FROM has its content. A file that a delta belongs to is removed only where the
# one that it was made into, with the second sum, is at PATH.
settle() {
  is_taken "$4" || return 0
  observe "$4"
  held=$now
  observe "$1"
  there=$now
  from=-
  if [ $# -gt 4 ]; then
    observe "$5"
    from=$now
  fi
  if [ $# -gt 5 ] && [ "$held" = "$3" ] && [ "$there" = "$6" ]; then
    from=$held
  fi
  is_kept=no
  case $held in
    - | d | other) ;;
    "$there" | "$from") is_kept=yes ;;
    "$3")
      case $#$there in
        [56]* | 4- | 4d | 4other) ;;
        *) is_kept=yes ;;
      esac
      ;;
  esac
  if [ "$is_kept" = no ] && [ "$there" != - ]; then
    complain "$2" "was saved while a script that was killed had the file aside, which is kept as $4; move one of them away"
  elif [ "$mode" = check ]; then
    :
  elif [ "$is_kept" = yes ]; then
    rm -f -- "$4" || complain "$2" "was replaced, but $4 cannot be removed"
    unchanged='Nothing else was changed.'
  elif put_back "$4" "$1"; then
    say "  put back    $2"
    unchanged='Nothing else was changed.'
  else
    complain "$2" "cannot be put back; it is kept as $4"
  fi
}

# PATH SHOWN SUM MODE SUM MODE ASIDE [between]: the path must be as before the run or as after it, or on the
# way from a directory to a file or back. What a killed script moved aside counts as being at its path.
expect() {
  at=$1
  observe "$at"
  if [ "$now" = - ] && [ "$7" != - ] && is_taken "$7"; then
    at=$7
    observe "$at"
  fi
  if is_now "$at" "$3" "$4"; then
    :
  elif is_now "$at" "$5" "$6"; then
    # A directory of the run in which somebody put more stays.
    if [ "$3$5" != -d ]; then
      pending=$((pending + 1))
      case $now in
        - | d) ;;
        "$3") expect_same_owner "$at" "$2" "$4" mode ;;
        *) expect_same_owner "$at" "$2" "$4" ;;
      esac
    elif [ "$restored" = no ] && [ -z "$(find "$1" ! -type d)" ]; then
      pending=$((pending + 1))
    fi
  elif [ "$3$now" = dd ] || [ "$now${8-}" = -between ]; then
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

# FROM TO SHOWN ASIDE: a file that is moved back must be in one of the two places.
expect_one() {
  if [ ! -e "$1" ] && [ ! -e "$2" ] && [ ! -e "$4" ]; then
    complain "$3" "is in neither of the two places that the run knew"
  elif [ -e "$2" ] || [ -e "$4" ]; then
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

# DIRECTORY SHOWN: what is on the way to a file that comes back, and was not changed by the run.
expect_directory() {
  if [ -d "$1" ] || [ ! -e "$1" ]; then
    return 0
  fi
  complain "$2" "is no directory any more, and a file has to come back in it"
}

# PATH SHOWN: a file that is gone, which anybody could run as its owner. Who that was is not known here.
expect_owner() {
  if [ "$(id -u)" != 0 ] || [ -e "$1" ] || [ -h "$1" ]; then
    return 0
  fi
  complain "$2" "ran as its owner (set-user-ID or set-group-ID) and is gone; only its owner can bring it back"
}

# PATH SHOWN MODE [mode]: what can be run as its owner or group comes back as that of this user, or root does it. Where its
# mode alone comes back, the group counts only where that is set-group-ID.
expect_same_owner() {
  case $3 in
    [2-7]???) ;;
    *) return 0 ;;
  esac
  user=$(id -u)
  [ "$user" != 0 ] || return 0
  owner_of "$1" || owner=
  case ${4-}$3 in
    mode[45]???) [ "${owner%%:*}" != "$user" ] || return 0 ;;
  esac
  for group in $(id -G); do
    [ "$owner" != "$user:$group" ] || return 0
  done
  complain "$2" "runs as its owner or group (set-user-ID or set-group-ID), and this user is not both; root can restore it"
}

# PATH SHOWN TEMPORARY: a file that is moved aside must be one that can be put back without overwriting, by a hard link.
expect_link() {
  if [ ! -f "$1" ] || [ -h "$1" ]; then
    return 0
  fi
  give_name "$1" "$3" && rm -f -- "$3" && return 0
  complain "$2" "cannot get a second name (hard link) by this user or on this file system, so it cannot be replaced safely"
}

# BACKUP SUM
expect_backup() {
  observe "$backups/$1"
  [ "$now" = "$2" ] || complain "$backups/$1" "is missing or is not the backup that was made"
}

# BACKUP SUM
expect_delta() {
  expect_backup "$1" "$2"
  command -v dd >/dev/null 2>&1 || complain "$backups/$1" "requires \`dd\`, which is not installed"
}

# BACKUP FILE: copies the blocks of a delta into a file. Standard input has a line for each run of them: the number of the first in
# the file, and how many there are.
copy_blocks() {
  from=0
  while read -r first count; do
    case $first in
      *[!0-9]*) return 0 ;;
    esac
    dd if="$1" of="$2" bs=4096 skip="$from" seek="$first" count="$count" conv=notrunc 2>/dev/null </dev/null ||
      return 1
    from=$((from + count))
  done
  return 1
}

# BACKUP FILE BLOCKS SIZE: turns what the run left into what was before. The lines are behind the BLOCKS of the backup.
apply_delta() {
  dd if="$1" bs=4096 skip="$3" 2>/dev/null | copy_blocks "$1" "$2" || return 1
  # The last block is a whole one in the backup.
  dd if=/dev/null of="$2" bs=1 seek="$4" 2>/dev/null
}

# PATH SHOWN SUM ASIDE MODE
remove_file() {
  observe "$1"
  case $now in
    - | d) return 0 ;;
    "$3") ;;
    *) stop "$2" "changed meanwhile" ;;
  esac
  move_aside "$1" "$2" "$3" "$4" "$5"
  rm -f -- "$4" || stop "$2" "cannot be removed; it is $4 now"
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

# PATH SHOWN: the directories on the way to a path, where they are gone.
make_way() {
  begin_way "$1"
  while next_on_way; do
    [ -d "$way" ] || (umask 022 && mkdir -- "$way") || stop "$2" "has no directory to be in"
  done
}

# Puts into `owner` whose a file is, and of which group, in numbers.
owner_of() {
  facts=$(ls -ldn -- "$1") || return 1
  set -f
  # shellcheck disable=SC2086
  set -- $facts
  set +f
  owner=$3:$4
}

# DIRECTORY: whether it belongs to root.
is_of_root() {
  owner_of "$1" && [ "${owner%%:*}" = 0 ]
}

# FROM TO: gives a file the owner and the group of another one, as far as this user may.
own_as() {
  owner_of "$2" && made_by=$owner && owner_of "$1" || return 1
  [ "$owner" = "$made_by" ] || chown -- "$owner" "$2" 2>/dev/null
}

# PATH REASON: why nothing could be put at a path.
say_why_not() {
  if is_taken "$1"; then
    say "changed meanwhile"
  else
    say "$2"
  fi
}

# FROM TO SHOWN SUM ASIDE MODE
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
      make_way "$1" "$3"
      move_aside "$2" "$3" "$4" "$5" "$6"
      give_name "$5" "$1" || give_up "$2" "$3" "$5" "$(say_why_not "$1" "cannot be moved back")"
      ;;
    "$4")
      move_aside "$2" "$3" "$4" "$5" "$6"
      observe "$1"
      [ "$now" = "$4" ] || give_up "$2" "$3" "$5" "changed meanwhile"
      ;;
    *) stop "$3" "changed meanwhile" ;;
  esac
  sync_path "${1%/*}"
  rm -f -- "$5" || stop "$3" "is moved back, but $5 cannot be removed"
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
  elif [ "$(find "$1" -exec printf x \;)" = x ]; then
    stop "$2" "cannot be removed"
  else
    say "  kept        $2 (there is more in it than the run made)"
  fi
}

# PATH SHOWN SUM MODE SUM BACKUP TEMPORARY ASIDE MODE [BLOCKS SIZE]: with the last two the backup is a delta.
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
  make_way "$1" "$2"
  # A new file only: another process may have put a link there.
  source=$backups/$6
  [ $# -lt 11 ] || source=$1
  set -C
  cat <"$source" >"$7" || stop "$2" "cannot be restored"
  set +C
  if [ $# -ge 11 ]; then
    apply_delta "$backups/$6" "$7" "${10}" "${11}" || stop "$2" "cannot be restored"
  fi
  # Before its mode is the one that it had, which can be unreadable.
  sync_path "$7"
  if [ -e "$1" ] && ! own_as "$1" "$7"; then
    # It must not run as somebody else than before.
    case $4 in
      [2-7]*) stop "$2" "cannot get its owner back, as whom it runs (set-user-ID or set-group-ID)" ;;
    esac
  fi
  chmod "$4" "$7" || stop "$2" "cannot be restored"
  if [ ! -f "$7" ] || [ -h "$7" ] || ! digest_of "$7" || [ "$sum" != "$3" ]; then
    observe "$1"
    [ "$5" = - ] || [ "$now" = "$5" ] || stop "$2" "changed meanwhile"
    stop "$2" "the copy of its backup is damaged"
  fi
  [ "$5" = - ] || move_aside "$1" "$2" "$5" "$8" "$9"
  if ! give_name "$7" "$1"; then
    why=$(say_why_not "$1" "cannot be restored: no hard link can be made there")
    [ "$5" != - ] || stop "$2" "$why"
    give_up "$1" "$2" "$8" "$why"
  fi
  sync_path "${1%/*}"
  rm -f -- "$7" || stop "$2" "is restored, but $7 cannot be removed"
  [ "$5" = - ] || rm -f -- "$8" || stop "$2" "is restored, but $8 cannot be removed"
  touched=$((touched + 1))
  say "  restored    $2"
}

# PATH SHOWN SUM MODE MODE: of a file whose mode alone changed (a sum), or of a directory (`d`). The second mode is the one
# that the run left, `-` for any.
restore_mode() {
  observe "$1"
  [ "$now" = "$3" ] || stop "$2" "changed meanwhile"
  if has_mode "$1" "$4"; then
    return 0
  fi
  is_now "$1" "$3" "$5" || stop "$2" "changed meanwhile"
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
  # Whoever owns the directories can exchange them while the script runs, and root may write anywhere.
  if [ "$(id -u)" = 0 ] && { ! is_of_root . || ! is_of_root "$report"; }; then
    say "rollback.sh: refused: this workspace belongs to another user; run the script as that user. Nothing was changed." >&2
    exit 1
  fi
  if ! choose_tool; then
    say "rollback.sh: refused: none of sha256sum, shasum and openssl works here. Nothing was changed." >&2
    exit 1
  fi

  linker=ln
  if command -v link >/dev/null 2>&1; then
    linker=link
  fi

  settle_all
  if [ "$mode" = restore ] && ! rm -f -- "$temporaries"*; then
    say "rollback.sh: refused: the copies that a killed script left cannot be removed." >&2
    exit 1
  fi
  expect_all
  if [ "$bad" -gt 0 ]; then
    say "rollback.sh: refused: not as the run left it, in $bad places. $unchanged" >&2
    exit 1
  fi
  if [ "$pending" -eq 0 ]; then
    say "rollback.sh: done already: everything is as before the run. $unchanged"
    exit 0
  fi
  expect_backups
  if [ "$bad" -gt 0 ]; then
    say "rollback.sh: refused: $bad backups cannot be used. $unchanged" >&2
    exit 1
  fi
  if [ "$mode" = check ]; then
    say "rollback.sh: the run can be rolled back. $unchanged"
    exit 0
  fi
  expect_links
  if [ "$bad" -gt 0 ]; then
    say "rollback.sh: refused: $bad files cannot be replaced safely. $unchanged" >&2
    exit 1
  fi

  restore_all

  pending=0
  restored=yes
  expect_all
  if [ "$bad" -gt 0 ] || [ "$pending" -gt 0 ]; then
    say "rollback.sh: not everything is as before the run. Run this again with --check." >&2
    exit 4
  fi
  if [ "$synced" = no ]; then
    say "rollback.sh: \`sync\` is missing or failed here: a power cut in the next minute can damage what was restored."
  fi
  say "rollback.sh: rolled back in $touched steps; everything is as before the run, as its SHA-256 says."
}
