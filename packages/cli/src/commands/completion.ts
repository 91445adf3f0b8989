// svc completion: prints a completion script generated from the command tree. It sends no request to the
// vault. The script runs svc to find names of secrets and environments; it never asks, and never sees a
// value. Invariant: a name of a vault is not run or expanded by the shell. Words that are not names are
// dropped, and those that are left are compared as text.
import { type Command, type Commands, command } from '../definition/command.ts';
import { commonOptions } from '../definition/options.ts';
import { leaves } from '../definition/tree.ts';
import { usage } from '../errors.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The words that may follow a command. */
interface Branch {
  path: string[];
  words: string[];
  /** What its arguments name. */
  completes?: Command['completes'];
  about: Record<string, string>;
}

export default command({
  needs: 'nothing',
  args: { '<shell>': SHELLS.join(', ') },
  examples: {
    'completion bash > ~/.local/share/bash-completion/completions/svc': 'For bash',
    'completion zsh > ~/.zfunc/_svc': 'For zsh, with ~/.zfunc in fpath',
    'completion fish > ~/.config/fish/completions/svc.fish': 'For fish',
  },
  async run(context, { args: [shell = ''], commands }) {
    if (!SHELLS.includes(shell as Shell)) throw usage(`The shell must be one of ${SHELLS.join(', ')}.`);
    const script = SCRIPTS[shell as Shell](await branches(commands));
    context.out.result({ shell, script }, () => context.out.raw(script));
    return 0;
  },
});

const flagsOf = (flags: string) => flags.match(/--?[a-z][a-z-]*/g) ?? [];

async function branches(commands: Commands): Promise<Branch[]> {
  const found: Branch[] = [
    {
      path: [],
      words: [...Object.keys(commands), '--help', '--version'],
      about: Object.fromEntries(Object.entries(commands).map(([name, { summary }]) => [name, summary])),
    },
  ];
  for (const { name, summary, command } of await leaves(commands)) {
    const path = name.split(' ');
    const [top = '', below] = path;
    if (below !== undefined) {
      const group = found.find((branch) => branch.path.length === 1 && branch.path[0] === top) ?? {
        path: [top],
        words: [],
        about: {},
      };
      if (!found.includes(group)) found.push(group);
      group.words.push(below);
      group.about[below] = summary;
    }
    const flags = [...Object.keys(command.options ?? {}), ...Object.keys(commonOptions(command))].flatMap(
      flagsOf,
    );
    found.push({ path, words: [...flags, '--help'], about: {}, completes: command.completes });
  }
  return found;
}

/** Options whose value is an environment. */
const OF_ENVIRONMENT = ['-e', '--env', '--from', '--to', '--environment', '--environments'];

/** Cases of a shell that set `kind` where the arguments of a command are names. */
const kinds = (branches: Branch[], indent: string) =>
  branches
    .filter(({ completes }) => completes)
    .map(({ path, completes }) => `${indent}${quoted(path.join(' '))}) kind=${completes} ;;`)
    .join('\n');

/** Keeps only lines that are names: of secrets or slugs. A shell expands none of their characters. */
// safety: cli-completion-names
const ONLY_NAMES = "LC_ALL=C command grep -xE '[A-Za-z0-9_][A-Za-z0-9_./-]*'";

/**
 * The function `_svc_names KIND PREFIX` of bash and zsh, which prints names. `words` are those before the
 * cursor.
 */
const NAMES = `_svc_names() {
  local -a given
  local word before=""
  for word in "\${words[@]}"; do
    case "$before" in
      --profile | -o | --org | --url) given+=("$before" "$word") ;;
      -e | --env | --from) [[ $1 == environments ]] || given+=(--env "$word") ;;
    esac
    before="$word"
  done
  case "$1" in
    environments) svc environment list "\${given[@]}" ;;
    deleted) svc list --status deleted --limit 200 "\${given[@]}" ;;
    *) svc list --prefix "$2" --limit 200 "\${given[@]}" ;;
  esac 2>/dev/null </dev/null | command cut -f1 | ${ONLY_NAMES}
}`;

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The pattern of the words so far and the next one that lead to a branch. */
const seen = (path: string[]) => quoted(path.length === 1 ? ` ${path[0]}` : path.join(' '));

const SCRIPTS: Record<Shell, (branches: Branch[]) => string> = {
  bash: (branches) => `# svc completion bash
${NAMES}
_svc() {
  local path="" word at kind="" current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}"
  local -a choices words=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    # What follows belongs to another program.
    [[ $word == -- ]] && { COMPREPLY=(); compopt -o default; return; }
    [[ $word == -* ]] && continue
    case "$path $word" in
${branches
  .filter(({ path }) => path.length > 0)
  .map(({ path }) => `      ${seen(path)}) path=${quoted(path.join(' '))} ;;`)
  .join('\n')}
    esac
  done
  case "$path" in
${branches.map(({ path, words }) => `    ${quoted(path.join(' '))}) choices=(${words.map(quoted).join(' ')}) ;;`).join('\n')}
  esac
  case "$path" in
${kinds(branches, '    ')}
  esac
  case "$before" in ${OF_ENVIRONMENT.join(' | ')}) kind=environments current="\${current##*,}" ;; esac
  if [[ -n $kind && $current != -* ]]; then
    choices=()
    while IFS= read -r word; do choices+=("$word"); done < <(_svc_names "$kind" "$current")
  fi
  COMPREPLY=()
  # No compgen -W: it runs command substitutions in its words.
  for word in "\${choices[@]}"; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done
  [[ \${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _svc svc
`,
  zsh: (branches) => `#compdef svc
# svc completion zsh
${NAMES}
_svc() {
  local at_path="" word kind="" current="\${words[CURRENT]}" before="\${words[CURRENT-1]}"
  local -a choices typed
  typed=("\${(@)words[2,CURRENT-1]}")
  for word in "\${(@)typed}"; do
    [[ $word == -- ]] && { _files; return }
    [[ $word == -* ]] && continue
    case "$at_path $word" in
${branches
  .filter(({ path }) => path.length > 0)
  .map(({ path }) => `      ${seen(path)}) at_path=${quoted(path.join(' '))} ;;`)
  .join('\n')}
    esac
  done
  case "$at_path" in
${branches.map(({ path, words, about }) => `    ${quoted(path.join(' '))}) choices=(${words.map((word) => quoted(about[word] ? `${word}:${about[word]}` : word)).join(' ')}) ;;`).join('\n')}
  esac
  case "$at_path" in
${kinds(branches, '    ')}
  esac
  case "$before" in ${OF_ENVIRONMENT.join(' | ')}) kind=environments ;; esac
  if [[ -n $kind && $current != -* ]]; then
    local -a words
    words=("\${(@)typed}")
    choices=("\${(@f)$(_svc_names "$kind" "$current")}")
  fi
  _describe 'svc' choices || _files
}
(( $+functions[compdef] )) && compdef _svc svc
[[ $funcstack[1] == _svc ]] && _svc
`,
  fish: (branches) => `# svc completion fish
function __svc_at
  set -l words (commandline -opc | string match -v -- '-*')
  set -l found
  for word in $words[2..]
    switch "$found $word"
${branches
  .filter(({ path }) => path.length > 0)
  .map(({ path }) => `      case ${seen(path)}\n        set found ${quoted(path.join(' '))}`)
  .join('\n')}
    end
  end
  test "$found" = "$argv[1]"
end
function __svc_names
  set -l given
  set -l before
  for word in (commandline -opc)[2..]
    switch "$before"
      case --profile -o --org --url
        set -a given $before $word
      case -e --env --from
        test $argv[1] = environments; or set -a given --env $word
    end
    set before $word
  end
  begin
    switch $argv[1]
      case environments
        svc environment list $given
      case deleted
        svc list --status deleted --limit 200 $given
      case '*'
        svc list --prefix (commandline -ct) --limit 200 $given
    end
  end 2>/dev/null </dev/null | command cut -f1 | ${ONLY_NAMES}
end
${branches.flatMap(({ path, completes }) => (completes ? [`complete -c svc -n ${quoted(`__svc_at ${quoted(path.join(' '))}`)} -f -a ${quoted(`(__svc_names ${completes})`)}`] : [])).join('\n')}
${branches.flatMap(({ path, words, about }) => words.map((word) => `complete -c svc -n ${quoted(`__svc_at ${quoted(path.join(' '))}`)} ${wordOf(word)}${about[word] ? ` -d ${quoted(about[word])}` : ''}`)).join('\n')}
`,
};

/** A completion word in the syntax of fish. */
function wordOf(word: string): string {
  const values = OF_ENVIRONMENT.includes(word) ? " -x -a '(__svc_names environments)'" : '';
  return word.startsWith('--')
    ? `-l ${word.slice(2)}${values}`
    : word.startsWith('-')
      ? `-s ${word.slice(1)}${values}`
      : `-a ${word}`;
}
