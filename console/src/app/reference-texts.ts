export const referenceTexts = {
  signedIn: (tenant: string) =>
    `You are signed in at the tenant ${tenant}. Requests that you try out use your session; Authorize takes other credentials.`,
  signedOut: (tenant: string) => `Sign in at the tenant ${tenant} to try out requests, or press Authorize.`,
  noTenant: (tenant: string) => `The tenant ${tenant} is not available. Press Authorize to use a token or an API key.`,
  failed: 'The sign-in did not work. Press Authorize to use a token or an API key.',
  signIn: 'Sign in',
  tryAgain: 'Try again',
  console: 'Console',
}
