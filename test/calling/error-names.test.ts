import { describe, expect, it } from 'vitest';
import { devicePresets } from '../../src/calling/device.js';
import { ErrorName } from '../../src/calling/errors.js';
import type { CallProperties } from '../../src/calling/call-request.js';
import type { InitProperties } from '../../src/calling/init-properties.js';
import type { Platform } from '../../src/calling/protocol.js';
import type { SignedCall } from '../../src/calling/index.js';
import type { SignedCallEnv } from '../../src/calling/environment.js';
import type { SignedCallResponse } from '../../src/calling/errors.js';
import { errorTable } from '../../src/calling/errors.js';
import { annProperties as ann, testClient } from '../support/calling-client.js';
import { scriptedRouter, type ScriptedRouter } from '../support/servers/scripted-router.js';

// §8.7 of the calling contract: every error name is produced once, on each platform where it can be.

interface Stage {
  readonly router: ScriptedRouter;
  /** A client on the platform. */
  readonly client: (env?: Partial<SignedCallEnv>) => Promise<SignedCall>;
  /** What `initialize` says in this environment, to these properties. */
  readonly initialize: (
    properties?: unknown,
    env?: Partial<SignedCallEnv>,
  ) => Promise<SignedCallResponse>;
  /** What `call` says after an `initialize` that went well. */
  readonly call: (
    args?: readonly unknown[],
    env?: Partial<SignedCallEnv>,
  ) => Promise<SignedCallResponse>;
}

async function stageOn(platform: Platform): Promise<Stage> {
  const router = await scriptedRouter();
  const client = async (env: Partial<SignedCallEnv> = {}) =>
    (await testClient({ url: router.url, platform, ...env })).client;
  return {
    router,
    client,
    initialize: async (properties = ann, env = {}) =>
      (await client(env)).initialize(properties as InitProperties),
    call: async ([to, context, properties] = ['bob_1', 'lunch'], env = {}) => {
      const caller = await client(env);
      expect(await caller.initialize(ann)).toEqual({ isSuccessful: true, error: null });
      return caller.call(to as string, context as string, properties as CallProperties);
    },
  };
}

const refusedCall = (name: string) => (stage: Stage) => {
  stage.router.answer('call', () => ({ refuse: name }));
  return stage.call();
};

const producers: Record<ErrorName, (stage: Stage) => Promise<SignedCallResponse>> = {
  NO_NETWORK: ({ initialize, router }) => {
    router.stop();
    return initialize();
  },
  CORE_REQUIRED: ({ initialize }) => initialize(ann, { core: undefined }),
  INIT_CONFIG: ({ initialize }) => initialize(null),
  NOT_INITIALIZED: async (stage) => {
    const client = await stage.client();
    return client.call('bob_1', 'lunch');
  },
  ACCOUNT_OR_KEY_MISSING: ({ initialize }) => initialize({ ...ann, accountId: '' }),
  CUID_MISSING: ({ initialize }) => initialize({ ...ann, cuid: '' }),
  CUID_LENGTH: ({ initialize }) => initialize({ ...ann, cuid: 'ann' }),
  CUID_INVALID: ({ initialize }) => initialize({ ...ann, cuid: '91_8899555' }),
  BRANDING: ({ initialize }) => initialize({ ...ann, overrideDefaultBranding: { bgColor: 'red' } }),
  BAD_REQUEST: ({ call }) => call(['bob_1', 'lunch?']),
  AUTH_FAILURE: ({ initialize, router }) => {
    router.answer('auth', () => ({ refuse: 'AUTH_FAILURE' }));
    return initialize();
  },
  NOTIFICATION_PERMISSION: ({ initialize }) =>
    initialize(ann, { device: devicePresets.android13Denied }),
  PRODUCTION_REQUIRED: ({ initialize }) => initialize({ ...ann, production: undefined }),
  PERSIST_REQUIRED: ({ initialize }) =>
    initialize({ ...ann, allowPersistSocketConnection: undefined }),
  MIC_DENIED: async ({ call, router }) => {
    const response = await call(undefined, { device: devicePresets.micDenied });
    expect(router.heard.map(({ t }) => t)).toEqual(['auth']);
    return response;
  },
  RECEIVER_NETWORK_LOST: ({ call, router }) => {
    router.answer('call', () => undefined);
    return call(undefined, { times: { placement: 50 } });
  },
  NOT_REACHABLE: refusedCall('NOT_REACHABLE'),
  BAD_NETWORK: ({ call, router }) => {
    router.answer('probe', () => undefined);
    return call(undefined, { times: { latency: 50 } });
  },
  SELF_CALL: ({ call }) => call(['ann_1', 'lunch']),
  CONTEXT_REQUIRED: ({ call }) => call(['bob_1', '']),
  CONTEXT_LENGTH: ({ call }) => call(['bob_1', 'a'.repeat(65)]),
  CALLEE_REQUIRED: ({ call }) => call([undefined, 'lunch']),
  CALL_FAILED: refusedCall('SOMETHING_NEW'),
  SOCKET_REQUIRED: async (stage) => {
    const client = await stage.client();
    await client.initialize(ann);
    client.disconnectSignallingSocket();
    return client.call('bob_1', 'lunch');
  },
  CALL_OPTIONS: ({ call }) => call(['bob_1', 'lunch', { initiator_image: 'ftp://a.test' }]),
  CALL_IN_PROGRESS: async (stage) => {
    const client = await stage.client();
    await client.initialize(ann);
    expect(await client.call('bob_1', 'lunch')).toMatchObject({ isSuccessful: true });
    return client.call('carl_1', 'dinner');
  },
  FEATURE_OFF: refusedCall('FEATURE_OFF'),
  CUID_ELSEWHERE: ({ initialize, router }) => {
    router.answer('auth', () => ({ refuse: 'CUID_ELSEWHERE' }));
    return initialize();
  },
};

/** The contract's table: name, number on Android, number on iOS; a dash where there is none. */
const numbers = `
NO_NETWORK 1000 1000
CORE_REQUIRED 2001 2001
INIT_CONFIG 2002 2003
NOT_INITIALIZED 2003 2003
ACCOUNT_OR_KEY_MISSING 2004 2004
CUID_MISSING 2005 2006
CUID_LENGTH 2006 2007
CUID_INVALID 2007 2008
BRANDING 2010 400
BAD_REQUEST 2011 400
AUTH_FAILURE 2012 404
NOTIFICATION_PERMISSION 2013 -
PRODUCTION_REQUIRED - 2011
PERSIST_REQUIRED 2002 -
MIC_DENIED 5001 5001
RECEIVER_NETWORK_LOST 5002 5005
NOT_REACHABLE 5003 5002
BAD_NETWORK 5004 5008
SELF_CALL 5005 5003
CONTEXT_REQUIRED 5006 2000
CONTEXT_LENGTH 5007 2000
CALLEE_REQUIRED 5009 5005
CALL_FAILED 5010 5005
SOCKET_REQUIRED 5011 5012
CALL_OPTIONS 5012 5005
CALL_IN_PROGRESS 5013 5009
FEATURE_OFF 5014 5006
CUID_ELSEWHERE 2012 5004`
  .trim()
  .split('\n')
  .map((line) => line.split(' ') as [ErrorName, string, string]);

it('has a number for each name on each platform, or a reason why not', () => {
  expect(numbers.map(([name]) => name)).toEqual(Object.keys(ErrorName));
  for (const { android, ios } of Object.values(errorTable)) {
    for (const entry of [android, ios]) expect(entry).toBeTruthy();
  }
});

describe.each(['android', 'ios'] as const)('on %s', (platform) => {
  it.each(numbers)('uses the number of %s in the response', async (name, android, ios) => {
    const number = { android, ios }[platform];
    const response = await producers[name](await stageOn(platform));
    if (number === '-') {
      expect(response).toEqual({ isSuccessful: true, error: null });
      expect(errorTable[name][platform]).toEqual(expect.any(String));
    } else {
      expect(response).toEqual({
        isSuccessful: false,
        error: {
          errorName: name,
          errorCode: Number(number),
          errorMessage: errorTable[name].message,
          errorDescription: expect.stringMatching(/../),
        },
      });
    }
  });
});

it('reports on iOS which of the two is missing', async () => {
  const { initialize } = await stageOn('ios');
  const { error } = await initialize({ ...ann, apiKey: '' });
  expect(error).toMatchObject({ errorName: 'ACCOUNT_OR_KEY_MISSING', errorCode: 2005 });
});

it('reports why there is no socket, where the platform does', async () => {
  const { initialize } = await stageOn('android');
  const { error } = await initialize(ann, { url: 'http://127.0.0.1:1' });
  expect(error).toMatchObject({
    errorName: 'NO_NETWORK',
    errorDescription: expect.stringContaining(
      'Cannot open a socket to the router: connect ECONNREFUSED',
    ),
  });
});
