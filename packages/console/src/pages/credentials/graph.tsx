// The graph of a credential: its parents, its children, and the environments it can access. Three columns of
// links with curves between them; on a phone the columns are stacked.
import type { components } from '@secrets-vault/client';
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { hrefOfId } from '../../organisation/people';
import { nameOfKind } from './words';
import '../../styles/access.css';
import { counted } from '../../counted';

export type Graph = components['schemas']['CredentialGraph'];
type Linked = Pick<Graph['parent'], 'kind' | 'id' | 'name' | 'relation'>;

/** The credentials below this one that are revoked together with it. They are listed nearest first. */
export function endingWith({ id, children }: Graph): Graph['children'] {
  const ended = new Set([id]);
  return children.filter((child) => {
    const ends = child.dies_with !== null && ended.has(child.dies_with);
    if (ends) ended.add(child.id);
    return ends;
  });
}

const ROW = 60;
const GAP = 56;
const MOST = 12;

interface Node {
  key: string;
  head: string;
  name: ComponentChildren;
  href: string | null;
  tone?: 'self' | 'reach';
  /** Revoked together with this credential. */
  isFirm?: boolean;
}

const nodeOf = ({ kind, id, name, relation }: Linked): Node => ({
  key: id,
  head: nameOfKind(kind),
  name: name ?? `…${id.slice(-8)}`,
  href: hrefOfId(id),
  isFirm: relation === 'dies_with',
});

const Box = ({ node }: { node: Node }) => {
  const inside = (
    <>
      <span class="dim small">{node.head}</span>
      <span class="truncate">{node.name}</span>
    </>
  );
  const look = `node ${node.tone ?? ''}`;
  return node.href ? (
    <Link href={node.href} class={look}>
      {inside}
    </Link>
  ) : (
    <div class={look}>{inside}</div>
  );
};

/** Curves from the nodes of one column to one point of the next. `isFan` draws from one to many. */
function Curves({ nodes, height, isFan }: { nodes: Node[]; height: number; isFan: boolean }) {
  const middle = height / 2;
  const top = (height - nodes.length * ROW) / 2;
  return (
    <svg class="curves" width={GAP} height={height} viewBox={`0 0 ${GAP} ${height}`} aria-hidden="true">
      {nodes.map((node, index) => {
        const y = top + index * ROW + ROW / 2;
        const [from, to] = isFan ? [middle, y] : [y, middle];
        return (
          <path
            key={node.key}
            d={`M0 ${from}C${GAP / 2} ${from} ${GAP / 2} ${to} ${GAP} ${to}`}
            class={node.tone === 'reach' ? 'reach' : node.isFirm ? 'firm' : 'loose'}
          />
        );
      })}
    </svg>
  );
}

const Column = ({ label, nodes }: { label: string; nodes: Node[] }) => (
  <ul class="nodes" aria-label={label}>
    {nodes.map((node) => (
      <li key={node.key}>
        <Box node={node} />
      </li>
    ))}
  </ul>
);

const reachNode = ({ environment, secrets, incomplete }: Graph['reach']['environments'][number]): Node => ({
  key: `environment ${environment}`,
  head: environment,
  name: `${incomplete ? 'at least ' : ''}${counted(secrets, 'secret')}`,
  href: `/secrets?${new URLSearchParams({ environment })}`,
  tone: 'reach',
});

const upstreamNode = ({ id, name }: Graph['reach']['upstreams'][number]): Node => ({
  key: id,
  head: 'upstream',
  name,
  href: `/upstreams/${id}`,
  tone: 'reach',
});

export function GraphView({ graph, name }: { graph: Graph; name: string }) {
  const parents = graph.parent ? [nodeOf(graph.parent)] : [];
  const reached = [
    ...graph.reach.environments.filter(({ secrets }) => secrets > 0).map(reachNode),
    ...graph.reach.upstreams.slice(0, MOST).map(upstreamNode),
  ];
  const direct = graph.children.filter(({ depth }) => depth === 1);
  const children = direct.slice(0, MOST).map(nodeOf);
  const right = [...reached, ...children];
  const rest = graph.children.length + (graph.omitted ?? 0) - children.length;
  const height = Math.max(parents.length, right.length, 1) * ROW;
  return (
    <figure class="graph">
      <div class="graph-columns" style={{ '--height': `${height}px` }}>
        {parents.length > 0 && (
          <>
            <Column label="Created by" nodes={parents} />
            <Curves nodes={parents} height={height} isFan={false} />
          </>
        )}
        <Column
          label="This credential"
          nodes={[{ key: graph.id, head: nameOfKind(graph.kind), name, href: null, tone: 'self' }]}
        />
        {right.length > 0 && (
          <>
            <Curves nodes={right} height={height} isFan />
            <Column label="Access and created credentials" nodes={right} />
          </>
        )}
      </div>
      <figcaption class="dim small graph-key">
        <span class="key reach">Can currently read, write, rotate or use secrets</span>
        <span class="key firm">Revoked together with it</span>
        <span class="key loose">Created by it, but independent</span>
        {rest > 0 && <span>{rest.toLocaleString()} more below it</span>}
      </figcaption>
    </figure>
  );
}
