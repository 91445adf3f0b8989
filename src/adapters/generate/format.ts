// The interface of formats of generated files. Invariants: a format is pure; a program that reads the file
// gets every value back byte for byte, or the value is refused before anything is rendered; the same entries
// give the same bytes (except for github-actions, whose delimiters are random).
import { z } from '@hono/zod-openapi';
import type { Detail } from '../../errors';
import type { NameRule } from '../names';

/** A secret in a file, with the key that its name is mapped to. */
export interface Entry {
  name: string;
  key: string;
  value: string;
}

/** The common interface of formats, regardless of their options. */
export interface Format {
  format: string;
  filename: string;
  contentType: 'application/yaml' | 'application/json' | 'text/plain' | 'text/x-shellscript';
  options: z.ZodObject;
  names: NameRule;
  /** The file refers to secrets by name and contains no values, so it is given none. */
  valueless?: true;
  /** Names that are refused only with some options. */
  refusesName?(key: string, options: never): string | null;
  /**
   * Why the file cannot contain a value, worded to follow the name. It must not reveal more about the value.
   */
  refuses?(value: string, key: string, options: never): string | null;
  /** What is wrong with all entries together. */
  refusesAll?(entries: readonly Entry[]): Detail[];
  /** Renders the file in pieces. The entries are sorted by name and have been accepted. */
  render(entries: readonly Entry[], options: never): Iterable<string>;
}

/** Declares a format; the type of its options follows from its schema. */
export const format = <O extends z.ZodObject>(
  declared: Omit<Format, 'options' | 'render' | 'refuses' | 'refusesName'> & {
    options: O;
    refusesName?(key: string, options: z.output<O>): string | null;
    refuses?(value: string, key: string, options: z.output<O>): string | null;
    render(entries: readonly Entry[], options: z.output<O>): Iterable<string>;
  },
): Format => declared as unknown as Format;

/** The options of a format that has none. */
export const none = z.strictObject({});

/** The name of a Kubernetes object: a DNS-1123 subdomain. */
const Subdomain = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/, 'must be a DNS-1123 subdomain');
/** A namespace: a DNS-1123 label. */
const Label = z
  .string()
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be a DNS-1123 label');

/** Options of Kubernetes objects. They are validated but never changed. */
export const kubernetesOptions = { name: Subdomain.default('app-secrets'), namespace: Label.optional() };
export const KubernetesName = Subdomain;

/** Environment variables, and most programs that read files, end a text at NUL. */
export const nul = (value: string): string | null =>
  value.includes('\0') ? 'has a value with a NUL character' : null;
