// svc completion: prints a completion script generated from the command tree. It sends no request to the vault.
import { command } from '../command.ts';
import { commonOptions } from '../common.ts';
import { usage } from '../errors.ts';
import { leaves } from '../tree.ts';
import { COMMANDS } from './index.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The words that may follow a command. */
interface Branch {
  path: string[];
  words: string[];
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
  async run(context, { args: [shell = ''] }) {
    if (!SHELLS.includes(shell as Shell)) throw usage(`The shell must be one of ${SHELLS.join(', ')}.`);
    const script = SCRIPTS[shell as Shell](await branches());
    context.out.result({ shell, script }, () => context.out.raw(script));
    return 0;
  },
});

const flagsOf = (flags: string) => flags.match(/--?[a-z][a-z-]*/g) ?? [];

async function branches(): Promise<Branch[]> {
  const found: Branch[] = [
    {
      path: [],
      words: [...Object.keys(COMMANDS), '--help', '--version'],
      about: Object.fromEntries(Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary])),
    },
  ];
  for (const { name, summary, command } of await leaves()) {
    const path = name.split(' ');
    const [top = '', below] = path;
    if (below !== undefined) {
      const group = found.find((branch) => branch.path.length === 1 && branch.path[0] === top) ?? { path: [top], words: [], about: {} };
      if (!found.includes(group)) found.push(group);
      group.words.push(below);
      group.about[below] = summary;
    }
    const flags = [...Object.keys(command.options ?? {}), ...Object.keys(commonOptions(command))].flatMap(flagsOf);
    found.push({ path, words: [...flags, '--help'], about: {} });
  }
  return found;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The pattern of the words so far and the next one that lead to a branch. */
const seen = (path: string[]) => quoted(path.length === 1 ? ` ${path[0]}` : path.join(' '));

const SCRIPTS: Record<Shell, (branches: Branch[]) => string> = {
  bash: (branches) => `# svc completion bash
_svc() {
  local words path="" word at
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    [[ $word == -* ]] && continue
    [[ $word == -- ]] && return
    case "$path $word" in
${branches
  .filter(({ path }) => path.length > 0)
  .map(({ path }) => `      ${seen(path)}) path=${quoted(path.join(' '))} ;;`)
  .join('\n')}
    esac
  done
  case "$path" in
${branches.map(({ path, words }) => `    ${quoted(path.join(' '))}) words=${quoted(words.join(' '))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _svc svc
`,
  zsh: (branches) => `#compdef svc
# svc completion zsh
_svc() {
  local at_path="" word
  local -a choices
  for word in "\${(@)words[2,CURRENT-1]}"; do
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
${branches.flatMap(({ path, words, about }) => words.map((word) => `complete -c svc -n ${quoted(`__svc_at ${quoted(path.join(' '))}`)} ${wordOf(word)}${about[word] ? ` -d ${quoted(about[word])}` : ''}`)).join('\n')}
`,
};

/** A completion word in the syntax of fish. */
const wordOf = (word: string) =>
  word.startsWith('--') ? `-l ${word.slice(2)}` : word.startsWith('-') ? `-s ${word.slice(1)}` : `-a ${word}`;
