// The output of commands: tables for people, JSON and tab-separated lines for programs. Invariants: stdout
// holds only the result, everything else is written to stderr; text from other people cannot control the
// terminal or add lines; colours are used only in a terminal.
import pc from 'picocolors';
import { type CliError, jsonOf, textOf } from '../errors.ts';
import type { Host } from '../host.ts';
import { clean, cleanLines, isPlain, safeJson } from '../text.ts';
import { tableLines } from './table.ts';

export type Cell = string | number | boolean | null | undefined;

type Colors = ReturnType<typeof pc.createColors>;

const cell = (value: Cell) =>
  value === undefined || value === null || value === '' ? '-' : clean(String(value));

export class Output {
  readonly colors: Colors;
  readonly errorColors: Colors;

  constructor(
    private readonly host: Host,
    readonly json: boolean,
  ) {
    const { NO_COLOR, TERM } = host.env;
    const allowed = !NO_COLOR && TERM !== 'dumb' && !json;
    this.colors = pc.createColors(allowed && Boolean(host.stdout.isTTY));
    this.errorColors = pc.createColors(allowed && Boolean(host.stderr.isTTY));
  }

  get isTerminal(): boolean {
    return Boolean(this.host.stdout.isTTY);
  }

  /** The result: JSON with --json, otherwise the output of `people`. */
  result(value: unknown, people: () => void): void {
    if (this.json) this.asJson(value);
    else people();
  }

  asJson(value: unknown): void {
    this.raw(`${safeJson(value, 2)}\n`);
  }

  /** One resource or outcome with --json, otherwise a sentence. */
  done(value: unknown, sentence: string): void {
    this.result(value, () => this.line(sentence));
  }

  /** A list, as `{ "data": [...] }` with --json, otherwise a table. */
  list<Row>(
    rows: Row[],
    columns: Record<string, (row: Row) => Cell>,
    nothing = 'Nothing to show.',
    more: object = {},
  ): void {
    this.result({ data: rows, ...more }, () => {
      if (rows.length === 0) this.note(nothing);
      else
        this.table(
          Object.keys(columns),
          rows.map((row) => Object.values(columns).map((of) => of(row))),
        );
    });
  }

  /**
   * A table; tab-separated and without a header if stdout is not a terminal. It is written at once: a pipe
   * fails with a million writes that wait for its reader.
   */
  table(header: string[], rows: Cell[][]): void {
    const cells = rows.map((row) => row.map(cell));
    const width = this.host.stdout.columns || Number.POSITIVE_INFINITY;
    const lines = this.isTerminal
      ? tableLines(header, cells, width, this.colors.dim)
      : cells.map((row) => row.join('\t'));
    this.raw([...lines, ''].join('\n'));
  }

  /** Names and their values, one per line. */
  fields(fields: Record<string, Cell>): void {
    const shown = Object.entries(fields).filter(([, value]) => value !== undefined);
    const longest = Math.max(...shown.map(([name]) => name.length));
    for (const [name, value] of shown)
      this.raw(`${this.colors.dim(`${name}:`.padEnd(longest + 1))} ${cell(value)}\n`);
  }

  /** One line on stdout. */
  line(text: string): void {
    // safety: cli-output-one-line
    this.raw(`${clean(text)}\n`);
  }

  /** A value: exact for a file or pipe, with visible control characters in a terminal. */
  value(value: string): void {
    if (!this.isTerminal) {
      this.raw(value);
      return;
    }
    // safety: cli-terminal-value
    this.raw(`${cleanLines(value)}\n`);
    if (!isPlain(value))
      this.warn('Control characters are shown as \\u{…}. A file or pipe gets the exact value.');
  }

  /** Writes text unchanged. */
  raw(text: string): void {
    this.host.stdout.write(text);
  }

  /**
   * A message for people, on stderr. Each argument is one line, whatever is in it: texts of a vault add none.
   */
  note(...lines: string[]): void {
    this.host.stderr.write(`${lines.map(clean).join('\n')}\n`);
  }

  warn(...lines: string[]): void {
    this.host.stderr.write(`${this.errorColors.yellow('warning:')} ${lines.map(clean).join('\n')}\n`);
  }

  /** A failure, on stderr. */
  fail(error: CliError): void {
    this.host.stderr.write(
      this.json ? `${safeJson(jsonOf(error), 2)}\n` : textOf(error, this.errorColors.red),
    );
  }

  success(text: string): void {
    // safety: cli-success-line
    this.host.stderr.write(`${this.errorColors.green('✓')} ${clean(text)}\n`);
  }
}
