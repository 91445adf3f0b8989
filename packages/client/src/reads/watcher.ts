// The event stream: reports changes as they happen, and reconnects until it is stopped. Invariants: an open
// connection misses no event; after a gap, everything cached is revalidated, at once or, where connections
// keep ending, at most once a minute; events contain names, never values.
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { AuthenticationError, ConnectionError, VaultError } from '../api/errors.js';
import { sleep } from '../wait.js';

/**
 * A change of secrets, without values.
 *
 * @example
 * vault.onChange(({ type, environment, names }) => console.log(`${type} in ${environment}: ${names}`));
 */
export interface Change {
  /** The slug of the environment. */
  environment: string;
  /** The names that changed: one, two for a rename, possibly more from a poll. */
  names: string[];
  /** The event type, such as `SECRET_ROTATED`; null if a poll found the change. */
  type: string | null;
}

/** The event types that change the result of a read. */
const KINDS = ['CREATED', 'UPDATED', 'ROTATED', 'DELETED', 'RESTORED', 'REVOKED', 'EXPIRED']
  .map((kind) => `SECRET_${kind}`)
  .join(',');
/** The vault writes immediately, then at least every 25 seconds. */
const FIRST_WITHIN = 10_000;
const NEXT_WITHIN = 40_000;
const LONGEST_PAUSE = 15_000;
/** The most characters of one event. The largest of a vault has a few thousand. */
const LARGEST_EVENT = 1024 * 1024;
/** The most characters of a name or an id. A vault has names of up to 255, and its ids are numbers. */
const LONGEST_TEXT = 300;
/** A connection that ends sooner counts as a failure: something in between may close every stream at once. */
const LASTS = 30_000;
/** The least time between polls while no stream opens; and the most while each one ends at once. */
const POLL_AFTER = 15_000;
const LONGEST_POLL_AFTER = 60_000;
/** The number of polls before a refused stream is tried again. */
const POLLS = 20;

export interface WatcherOptions {
  /** Opens the stream with this query and `Last-Event-ID`. */
  open(query: string, lastEventId: string | null, signal: AbortSignal): Promise<Response>;
  onChange(change: Change, version: number | null): void;
  /** Called with the number of the open connection, or 0 when it closes. */
  onConnection(n: number): void;
  /**
   * Revalidates everything cached, because events may have been missed or there is no stream. Returns whether
   * anything is still cached.
   */
  poll(): Promise<boolean>;
  /**
   * Called when changes can no longer be reported: the credential is no longer accepted, or the stream is
   * refused and nothing is cached.
   */
  onRefused(error: VaultError): void;
}

export class Watcher {
  readonly #options: WatcherOptions;
  readonly #ending = new AbortController();
  #isRunning = false;
  #connections = 0;
  /** The number of connections in a row that opened and ended too soon. */
  #cut = 0;
  #polledAt = Number.NEGATIVE_INFINITY;
  #isPollDue = false;
  #lastEventId: string | null = null;

  constructor(options: WatcherOptions) {
    this.#options = options;
  }

  /** Starts the stream if it is not running. */
  start(): void {
    if (this.#isRunning || this.#ending.signal.aborted) return;
    this.#isRunning = true;
    this.#run().catch(() => {}); // stopped
  }

  stop(): void {
    this.#ending.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    for (let failures = 0; ; ) {
      const opened = this.#connections;
      const since = Date.now();
      const error = await this.#listen().catch((thrown: unknown) => thrown);
      this.#options.onConnection(0);
      signal.throwIfAborted();
      if (error instanceof AuthenticationError) {
        this.#isRunning = false; // a later listener tries again
        this.#options.onRefused(error);
        return;
      }
      const hasOpened = this.#connections > opened;
      const hasHeld = hasOpened && Date.now() - since >= LASTS;
      failures = hasHeld ? 1 : failures + 1;
      if (hasOpened) this.#cut = hasHeld ? 0 : this.#cut + 1;
      if (isRefusal(error)) await this.#replace(error);
      else {
        // After an open connection, the next one polls.
        if (!hasOpened) this.#pollLater(POLL_AFTER).catch(() => {});
        await sleep(pauseAfter(failures), signal);
      }
    }
  }

  /** Polls in place of a refused stream for a while; once if only the last event is gone. */
  async #replace(refusal: VaultError): Promise<void> {
    const isGone = refusal.code === 'EVENTS_GONE';
    if (isGone) this.#lastEventId = null;
    for (let polls = isGone ? 1 : POLLS; polls > 0; polls--) {
      const holds = await this.#poll();
      this.#ending.signal.throwIfAborted();
      // A refusal by something in between, such as a proxy, does not count as one by the vault.
      if (!isGone && !holds && refusal.code !== 'UNEXPECTED_RESPONSE') this.#options.onRefused(refusal);
      await sleep(LONGEST_PAUSE, this.#ending.signal);
    }
  }

  #poll(): Promise<boolean> {
    this.#polledAt = Date.now();
    return this.#options.poll();
  }

  /** Polls once as much time has passed since the last poll. */
  async #pollLater(ms: number): Promise<void> {
    if (this.#isPollDue) return;
    this.#isPollDue = true;
    while (Date.now() < this.#polledAt + ms)
      await sleep(this.#polledAt + ms - Date.now(), this.#ending.signal);
    this.#isPollDue = false;
    await this.#poll();
  }

  /** One connection, until it ends. */
  async #listen(): Promise<void> {
    const ending = new AbortController();
    const end = () => ending.abort();
    this.#ending.signal.addEventListener('abort', end, { once: true });
    let timer = setTimeout(end, FIRST_WITHIN);
    try {
      const response = await this.#options.open(`types=${KINDS}`, this.#lastEventId, ending.signal);
      const heard = () => {
        clearTimeout(timer);
        timer = setTimeout(end, NEXT_WITHIN);
      };
      const body = response.body;
      if (!body || !response.headers.get('Content-Type')?.startsWith('text/event-stream'))
        throw new VaultError('The response is not an event stream.', {
          code: 'UNEXPECTED_RESPONSE',
          status: response.status,
        });
      await this.#read(body, heard);
    } finally {
      clearTimeout(timer);
      this.#ending.signal.removeEventListener('abort', end);
    }
  }

  async #read(body: ReadableStream<Uint8Array>, heard: () => void): Promise<void> {
    let isOpen = false;
    const bytes = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        heard();
        if (!isOpen) this.#opened();
        isOpen = true;
        controller.enqueue(chunk);
      },
    });
    const events = body
      .pipeThrough(bytes)
      .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
      .pipeThrough(new EventSourceParserStream({ maxBufferSize: LARGEST_EVENT }))
      .getReader();
    for (;;) {
      const { value, done } = await events.read();
      if (done) return;
      // One that no header can hold would keep every later stream from opening.
      if (value.id && /^[\x21-\x7e]+$/.test(value.id) && isShort(value.id)) this.#lastEventId = value.id;
      this.#tell(value.data);
    }
  }

  #opened(): void {
    this.#connections++;
    this.#options.onConnection(this.#connections);
    // The stream does not report changes from before it was open. Where each connection ends at once, reading
    // everything for each is too much.
    const after = Math.min(LONGEST_POLL_AFTER, POLL_AFTER * 2 ** (this.#cut - 1));
    (this.#cut === 0 ? this.#poll() : this.#pollLater(after)).catch(() => {});
  }

  #tell(text: string): void {
    let event: {
      type?: unknown;
      data?: { name?: unknown; former_name?: unknown; environment?: unknown; version?: unknown } | null;
    } | null;
    try {
      event = JSON.parse(text);
    } catch {
      return;
    }
    const { name, former_name, environment, version } = event?.data ?? {};
    // Names are remembered as reported, so their length bounds what a hostile server can fill.
    if (!isShort(name) || !isShort(environment) || !isShort(event?.type)) return;
    const names = isShort(former_name) ? [name, former_name] : [name];
    this.#options.onChange(
      { environment, names, type: event.type },
      typeof version === 'number' ? version : null,
    );
  }
}

const isShort = (text: unknown): text is string => typeof text === 'string' && text.length <= LONGEST_TEXT;

const pauseAfter = (failures: number) =>
  Math.min(LONGEST_PAUSE, 250 * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);

/** Whether the vault responded with a refusal that is not temporary. */
const isRefusal = (error: unknown): error is VaultError =>
  error instanceof VaultError &&
  !(error instanceof ConnectionError) &&
  error.status < 500 &&
  error.status !== 429;
