// One call of AWS Secrets Manager's API: the operation of ours that it becomes. `route` is declared as any
// route of the API is, with its action, and handled by the same pipeline. Invariant: a call has no rule of
// its own: its schema only says which members it takes.
import type { z } from '@hono/zod-openapi';
import { type DeclaredRoute, type Input, type Route, route } from '../../http/route';

/** What every call knows besides its members. */
export interface At {
  environment: string;
  /** The secret that it names; absent where it names none. */
  name?: string;
  /** The end of the secret's ARN; absent without one. */
  suffix?: string;
  /** The ClientRequestToken, which is no part of the operation: repeated, it has another. */
  token?: string;
  /** As the client calls it. */
  region: string;
}

export interface AwsCall {
  schema: z.ZodType;
  route: DeclaredRoute;
  /** It changes something, so its signature serves once. */
  isWrite: boolean;
  /** The answer, for a route that does not render: of a replay too. */
  shows?(data: never, at: At): object;
}

export const atOf = ({ params }: Pick<Input, 'params'>): At => params as unknown as At;

/** The secret of a call, as the gate is told of it. */
export const named = (input: Pick<Input, 'params'>) => {
  const { environment, name } = atOf(input);
  return { environment, ...(name !== undefined && { name }) };
};
/** The end of an ARN for the gate. */
export const suffixIn = (input: Pick<Input, 'params'>) => ({ suffix: atOf(input).suffix ?? null });

/** Declares a call: its action and operation, and how both translate. */
export const becomes = <B extends z.ZodType>(
  schema: B,
  declared: Pick<Route<z.ZodType, B>, 'action'> &
    Partial<Pick<Route<z.ZodType, B>, 'operation' | 'named' | 'prepare' | 'more' | 'render'>>,
  { isWrite = false, shows }: Partial<Pick<AwsCall, 'isWrite' | 'shows'>> = {},
): AwsCall => ({
  schema,
  isWrite,
  route: route<z.ZodType, B>({
    method: 'post',
    tag: 'AWS',
    summary: '',
    path: '',
    answers: {},
    body: { schema },
    named,
    ...declared,
  } as never),
  ...(shows && { shows }),
});
