import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startService, type RunningService, type ServiceOptions } from '../../src/service/start.js';
import { serviceDefaults } from '../support/service-defaults.js';
import { until } from '../support/until.js';

/** A JSON answer, as far as the tests look at it. */
export interface Reply {
  readonly http: number;
  readonly text: string;
  readonly status?: string;
  readonly code?: unknown;
  readonly error?: string;
  readonly processed?: number;
  readonly unprocessed?: { status: string; code: number; error: string; record: unknown }[];
  readonly record?: ProfileObject;
  readonly records?: (ProfileObject & EventObject)[];
  readonly cursor?: string;
  readonly next_cursor?: string;
}
export interface ProfileObject {
  readonly identity?: string;
  readonly email?: string;
  readonly name?: string;
  readonly phone?: string;
  readonly profileData?: Record<string, unknown>;
  readonly all_identities: string[];
  readonly events?: Record<string, { count: number; first_seen: number; last_seen: number }>;
  readonly platformInfo: Record<string, string>[];
}
interface EventObject {
  readonly profile: Record<string, unknown>;
  readonly ts: number;
  readonly event_props: Record<string, unknown>;
  readonly session_props: Record<string, unknown>;
}

export const headers = {
  'Content-Type': 'application/json',
  'X-Service-Account-Id': 'TEST-ACCOUNT',
  'X-Service-Passcode': 'test-passcode',
};

export const defaults: ServiceOptions = {
  ...serviceDefaults,
  accountId: headers['X-Service-Account-Id'],
  passcode: headers['X-Service-Passcode'],
  onDefect: (error) => {
    throw error;
  },
};

/** Calls of a running service, by endpoint. */
export class Running {
  readonly url: string;
  readonly #service: Pick<RunningService, 'url' | 'close'>;

  constructor(service: Pick<RunningService, 'url' | 'close'>) {
    this.url = service.url;
    this.#service = service;
  }

  close(): Promise<void> {
    return this.#service.close();
  }

  /** `body`: text as it is, anything else as JSON. */
  async call(method: string, path: string, body?: unknown): Promise<Reply> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(this.url + path, {
      method,
      headers,
      ...(text === undefined ? {} : { body: text }),
    });
    return replyOf(answer);
  }

  /** Status line, headers and body of a GET, with headers that fetch would not send. */
  async get(path: string, headers: Readonly<Record<string, string>>): Promise<string> {
    const { port } = new URL(this.url);
    const socket = connect(Number(port), '127.0.0.1');
    const all = { Host: '127.0.0.1', Connection: 'close', ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    socket.end([`GET ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
    let text = '';
    for await (const chunk of socket.setEncoding('latin1')) text += String(chunk);
    return text;
  }

  /** Waits until so many requests to the API have arrived, answered or not. */
  async arrived(requests: number): Promise<void> {
    const hasAll = async () => {
      const { text } = await this.call('GET', '/_local/requests');
      return (JSON.parse(text) as { requests: unknown[] }).requests.length >= requests;
    };
    await until(hasAll, { message: `${requests} requests arrived` });
  }

  upload(...records: readonly unknown[]): Promise<Reply> {
    return this.call('POST', '/1/upload', { d: records });
  }

  subscribe(...records: readonly unknown[]): Promise<Reply> {
    return this.call('POST', '/1/subscribe', { d: records });
  }

  async profile(
    by: 'identity' | 'email' | 'objectId',
    value: string,
  ): Promise<ProfileObject | undefined> {
    return (await this.call('GET', `/1/profile.json?${by}=${encodeURIComponent(value)}`)).record;
  }

  /** Opens an export and returns its cursor. */
  async open(
    kind: 'events' | 'profiles',
    event: string,
    from: number,
    to: number,
    query = '',
  ): Promise<string> {
    const wanted = { event_name: event, from, to };
    const { cursor, text } = await this.call('POST', `/1/${kind}.json${query}`, wanted);
    if (cursor === undefined) throw new Error(text);
    return cursor;
  }

  page(kind: 'events' | 'profiles', cursor: string): Promise<Reply> {
    return this.call('GET', `/1/${kind}.json?cursor=${cursor}`);
  }

  /** The pages from this cursor on; `between` runs before each but the first. */
  async pages(
    kind: 'events' | 'profiles',
    first: string,
    between?: () => Promise<unknown>,
  ): Promise<Reply[]> {
    const pages: Reply[] = [];
    let cursor: string | undefined = first;
    while (cursor !== undefined) {
      if (pages.length > 0) await between?.();
      const page: Reply = await this.page(kind, cursor);
      pages.push(page);
      cursor = page.next_cursor;
    }
    return pages;
  }
}

export async function replyOf(answer: Response): Promise<Reply> {
  const text = await answer.text();
  return { ...(JSON.parse(text) as object), http: answer.status, text };
}

/** A service of its own for this test, closed at its end. */
export async function run(options: Partial<ServiceOptions> = {}): Promise<Running> {
  const service = new Running(await startService({ ...defaults, ...options }));
  onTestFinished(() => service.close());
  return service;
}

/** A folder that is removed at the end of the test. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'engagectl-service-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const profileRecord = (identity: string, profileData: object = {}): object => ({
  identity,
  type: 'profile',
  profileData,
});

export const eventRecord = (
  identity: string,
  evtName: string,
  ts: number,
  evtData: object = {},
): object => ({
  identity,
  type: 'event',
  evtName,
  evtData,
  ts,
});
