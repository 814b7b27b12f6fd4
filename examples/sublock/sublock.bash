# SPDX-License-Identifier: MIT
#
# Completion for bash: verbs, options and their values, and the command that `sublock run` runs. Channels can't be
# known. Needs no other file; where bash-completion is there, a command's own words are completed by it.

_sublock() {
  local verbs='run who watch doctor bench'
  local all='-h --help -V --version'
  local server='--redis --password-file --cacert --cert --key --sni --insecure'
  local valued=' --redis --password-file --cacert --cert --key --sni -w --wait --timeout -E --conflict-exit-code -c --command --grace --on-loss
    --label -i --interval -t --seconds '
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}
  COMPREPLY=()

  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$verbs $all" -- "$cur")
    return
  fi

  # Where the channel is, and what stands behind it. `--option=value` is three words to bash, and so is `a:b`.
  local at channel=0
  for ((at = 2; at < COMP_CWORD; at++)); do
    case ${COMP_WORDS[at]} in
      --) ((at++)); channel=$at; break ;;
      -*)
        if [[ ${COMP_WORDS[at+1]} == = ]]; then
          ((at += 2))
        elif [[ $valued == *[[:space:]]"${COMP_WORDS[at]}"[[:space:]]* ]]; then
          ((at++))
        fi
        while [[ ${COMP_WORDS[at+1]} == : ]]; do ((at += 2)); done ;;
      *) channel=$at; break ;;
    esac
  done
  if [[ $verb == run ]] && ((channel > 0 && channel < COMP_CWORD)); then
    local command=$((channel + 1))
    while [[ ${COMP_WORDS[command]} == : ]]; do ((command += 2)); done
    [[ ${COMP_WORDS[command]} == -- ]] && ((command < COMP_CWORD)) && ((command++))
    if ((command == COMP_CWORD)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
    elif declare -F _command_offset > /dev/null; then
      _command_offset "$command"
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
    return
  fi

  local option=$prev
  [[ $cur == = ]] && cur='' && option=$prev
  [[ $prev == = ]] && option=${COMP_WORDS[COMP_CWORD-2]}
  case $option in
    --on-loss) mapfile -t COMPREPLY < <(compgen -W 'term kill warn' -- "$cur"); return ;;
    --password-file | --cacert | --cert | --key) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    --redis)
      mapfile -t COMPREPLY < <(compgen -W 'redis:// rediss:// redis+sentinel:// unix://' -- "$cur")
      compopt -o nospace 2> /dev/null
      return ;;
  esac
  [[ $valued == *[[:space:]]"$option"[[:space:]]* ]] && return

  [[ $cur == -* ]] || return
  local options
  case $verb in
    run) options='-s --shared -x -e --exclusive -n --nb --nonblock -w --wait --timeout -E --conflict-exit-code
      -c --command -o --close -F --no-fork --grace --on-loss --label --fencing -q --quiet --verbose' ;;
    who | doctor) options='--json' ;;
    watch) options='--json -i --interval' ;;
    bench) options='--json -t --seconds' ;;
    *) return ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$options $server $all" -- "$cur")
}

complete -F _sublock sublock
