// First run: guides an empty organisation to its first secret, key and program. Invariant: a step is done
// when the data of the organisation shows it, not when a button was clicked; the key is restricted: it can
// read one environment for thirty days.
import { Check } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { useEnvironment } from '../../organisation/environments';
import { forget, here, useRead, vault } from '../../requests/api';
import { Button } from '../../ui/controls/button';
import { CopyButton, ErrorNote, PageHead, Skeleton } from '../../ui/parts';
import { OneTime } from '../../ui/values/one-time';
import { NewSecret } from '../secrets/create';
import './start.css';

const DAYS_30 = 30 * 86_400;

/** The progress, derived from the data of the organisation. */
function useProgress() {
  const secrets = useRead(['secrets', 'start'], (signal) =>
    vault().api.GET('/orgs/{org_id}/secrets', { params: { path: here(), query: { limit: 1 } }, signal }),
  );
  const keys = useRead(['credentials', 'start'], (signal) =>
    vault().api.GET('/orgs/{org_id}/api-keys', { params: { path: here(), query: { limit: 100 } }, signal }),
  );
  const narrow = keys.data?.data.filter(({ scopes }) => !scopes.includes('*')) ?? [];
  return {
    data: secrets.data &&
      keys.data && {
        secret: secrets.data.data[0] ?? null,
        hasKey: narrow.length > 0,
        hasRun: narrow.some(({ use_count }) => use_count > 0),
      },
    error: secrets.error ?? keys.error,
    isPending: secrets.isPending || keys.isPending,
    refetch: () => forget('secrets', 'credentials'),
  };
}

function Step({
  number,
  title,
  done,
  children,
}: {
  number: number;
  title: string;
  done: boolean;
  children: ComponentChildren;
}) {
  return (
    <li class="step" data-done={done || undefined}>
      <span class="step-mark" aria-hidden="true">
        {done ? <Check size={16} /> : number}
      </span>
      <section class="stack grow">
        <h2>
          {title} {done && <span class="unseen">(done)</span>}
        </h2>
        {children}
      </section>
    </li>
  );
}

const Command = ({ label, text }: { label: string; text: string }) => (
  <div class="copyable">
    <code class="grow">{text}</code>
    <CopyButton text={text} label={`Copy ${label}`} />
  </div>
);

function KeyStep({ environment, done, isNext }: { environment: string; done: boolean; isNext: boolean }) {
  const [token, setToken] = useState<string | null>(null);
  const create = async () => {
    const { data } = await vault().api.POST('/orgs/{org_id}/api-keys', {
      params: { path: here() },
      body: {
        name: `first program, ${environment}`,
        scopes: ['secrets:read'],
        environments: [environment],
        ttlSeconds: DAYS_30,
      },
    });
    setToken(data.token);
  };
  const close = () => {
    setToken(null);
    void forget('credentials');
  };
  return (
    <>
      <p class="dim">
        A key is what a program signs in with. This one can only read the secrets of {environment}, and ends
        after 30 days.
      </p>
      <div>
        <Button kind={isNext ? 'primary' : 'plain'} onPress={create}>
          {done ? 'Create another key' : `Create a key for ${environment}`}
        </Button>
      </div>
      {token && (
        <OneTime
          title="Key for your first program"
          lead="Copy it. The next step asks you to paste it into the terminal."
          text={token}
          onClose={close}
        />
      )}
    </>
  );
}

/** The terminal commands. The key is pasted at a prompt, so that it is not in the shell history. */
const Commands = ({ environment }: { environment: string }) => (
  <div class="stack">
    <p class="dim">
      Sign in with the key: paste it, press Enter, then Ctrl D. Members sign in with their passkey, without
      --key-stdin.
    </p>
    <Command label="the sign-in command" text={`svc login --url ${location.origin} --key-stdin`} />
    <p class="dim">Start your program. Each secret is in an environment variable of the same name.</p>
    <Command label="the command that runs a program" text={`svc run --env ${environment} -- node app.js`} />
    <p class="dim small">
      No svc yet? In a clone of the repository, <code>npm ci</code> builds it, and{' '}
      <code>npx --no-install svc</code> runs it.
    </p>
  </div>
);

export default function Start() {
  const [environment] = useEnvironment();
  const [storing, setStoring] = useState(false);
  const { data, error, isPending, refetch } = useProgress();
  const hasSecret = Boolean(data?.secret);
  const isDone = data?.secret && data.hasKey && data.hasRun;
  return (
    <>
      <PageHead
        title="Get started"
        lead="Your first secret, your first key and your first program, in three steps."
      />
      {error && <ErrorNote error={error} onRetry={refetch} />}
      {isPending && <Skeleton rows={3} />}
      {data && (
        <ol class="steps narrow">
          <Step number={1} title="Store a secret" done={hasSecret}>
            <p class="dim">
              A password, a token or a connection string that a program needs. The value is hidden until
              someone reveals it.
            </p>
            <div class="row">
              <Button kind={hasSecret ? 'plain' : 'primary'} onPress={() => setStoring(true)}>
                {hasSecret ? 'Store another secret' : 'Store a secret'}
              </Button>
              {data.secret ? (
                <Link href={`/secrets/${data.secret.id}`}>View {data.secret.name}</Link>
              ) : (
                <Link href="/secrets/import">or import existing secrets</Link>
              )}
            </div>
          </Step>
          <Step number={2} title="Create a key for a program" done={data.hasKey}>
            <KeyStep environment={environment} done={data.hasKey} isNext={hasSecret && !data.hasKey} />
          </Step>
          <Step number={3} title="Run a program with it" done={data.hasRun}>
            <Commands environment={environment} />
          </Step>
        </ol>
      )}
      {isDone && (
        <p class="note good narrow" role="status">
          All done. Next, <Link href="/members">invite your colleagues</Link> and{' '}
          <Link href="/audit">look at the audit log</Link>.
        </p>
      )}
      {storing && (
        <NewSecret
          environment={environment}
          path=""
          onClose={() => setStoring(false)}
          onStored={() => setStoring(false)}
        />
      )}
    </>
  );
}
