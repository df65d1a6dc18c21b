import { userInfo } from 'node:os';
import { describe, expect, test, vi } from 'vitest';
import { configDirectory, stateDirectory } from '../../src/config/directories.js';

const folders = (env: Record<string, string>, platform: NodeJS.Platform = 'linux') => [
  configDirectory({ env, cwd: '/here', platform }),
  stateDirectory({ env, cwd: '/here', platform }),
];

const { homedir: home } = userInfo();

describe('D config and state directories', () => {
  test.each([
    ['home', { HOME: '/h' }, ['/h/.config/engagectl', '/h/.local/state/engagectl']],
    [
      'XDG',
      { HOME: '/h', XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s' },
      ['/c/engagectl', '/s/engagectl'],
    ],
    [
      'relative XDG folders, which its specification has ignored',
      { HOME: '/h', XDG_CONFIG_HOME: 'c', XDG_STATE_HOME: './s' },
      ['/h/.config/engagectl', '/h/.local/state/engagectl'],
    ],
    [
      'our own variables, which win',
      { XDG_CONFIG_HOME: '/c', ENGAGECTL_CONFIG_DIR: '/mine', ENGAGECTL_STATE_DIR: 'state' },
      ['/mine', '/here/state'],
    ],
    ['no HOME', {}, [`${home}/.config/engagectl`, `${home}/.local/state/engagectl`]],
  ])('follow XDG on Linux: %s', (_what, env, expected) => {
    expect(folders(env as Record<string, string>)).toEqual(expected);
  });

  test('ignore an empty HOME', () => {
    vi.stubEnv('HOME', '');
    expect(folders({})[0]).toBe(`${home}/.config/engagectl`);
    vi.unstubAllEnvs();
  });

  test('are in ~/Library on macOS', () => {
    expect(folders({ HOME: '/Users/a' }, 'darwin')).toEqual([
      '/Users/a/Library/Preferences/engagectl',
      '/Users/a/Library/Application Support/engagectl',
    ]);
  });

  test('are in AppData on Windows', () => {
    const [config, state] = folders({ APPDATA: 'R', LOCALAPPDATA: 'L' }, 'win32');
    expect(config).toMatch(/^R.engagectl.Config$/);
    expect(state).toMatch(/^L.engagectl.State$/);
  });
});
