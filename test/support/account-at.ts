/** The environment of a command whose account is at a server of the test. */
export const accountAt = (url: string, passcode: string): Record<string, string> => ({
  ENGAGECTL_BASE_URL: url,
  ENGAGECTL_ACCOUNT_ID: 'ACCOUNT-1',
  ENGAGECTL_PASSCODE: passcode,
});
