// Moves what several operations repeat into components, so that the document contains it once. Invariant:
// with its references resolved, the document says the same as before.
import type { Document, Operation, Parameter, PathItem, Ref } from './document';

/** A part at its place in an operation, and what to call it if several places share it. */
interface Place<T> {
  part: T | Ref;
  name: string;
  replace(ref: Ref): void;
}

export function shareRepeated({ paths, components }: Document): void {
  const operations = Object.values(paths).flatMap(operationsOf);
  const parameters = operations.flatMap(({ parameters = [] }) =>
    parameters.map((part, index) => ({
      part,
      name: 'name' in part ? part.name : '',
      replace: (ref: Ref) => parameters.splice(index, 1, ref),
    })),
  );
  const responses = operations.flatMap(({ responses }) =>
    Object.entries(responses).map(([status, part]) => ({
      part,
      name: status,
      replace: (ref: Ref) => Object.assign(responses, { [status]: ref }),
    })),
  );
  share('parameters', components.parameters, parameters);
  share('responses', components.responses, responses);
  for (const item of Object.values(paths)) raiseParameters(item);
}

/** The operations of a path. */
export const operationsOf = ({ parameters: _, ...methods }: PathItem): Operation[] => Object.values(methods);

/** Moves the parameters that all operations of a path take to the path. */
function raiseParameters(item: PathItem): void {
  const operations = operationsOf(item);
  if (operations.length < 2) return;
  const takes = ({ parameters = [] }: Operation, text: string) =>
    parameters.some((part) => JSON.stringify(part) === text);
  const isCommon = (part: Parameter | Ref) =>
    operations.every((operation) => takes(operation, JSON.stringify(part)));
  item.parameters = operations[0]?.parameters?.filter(isCommon) ?? [];
  for (const operation of operations)
    operation.parameters = operation.parameters?.filter((part) => !isRaised(part, item)) ?? [];
}

const isRaised = (part: Parameter | Ref, { parameters = [] }: PathItem) =>
  parameters.some((raised) => JSON.stringify(raised) === JSON.stringify(part));

/** Replaces equal parts by references to one component. */
function share<T extends object>(
  kind: 'parameters' | 'responses',
  all: Record<string, T>,
  places: Place<T>[],
): void {
  const parts = places.filter((place): place is Place<T> & { part: T } => !('$ref' in place.part));
  for (const [first, ...others] of Map.groupBy(parts, ({ part }) => JSON.stringify(part)).values()) {
    if (!first || others.length === 0) continue;
    let name = first.name;
    for (let n = 2; name in all; n++) name = `${first.name}.${n}`;
    all[name] = first.part;
    for (const place of [first, ...others]) place.replace({ $ref: `#/components/${kind}/${name}` });
  }
}
