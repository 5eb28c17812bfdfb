/** The commands of the program. A command is loaded when it is used, so that `waypost config` stays fast. */
import type { Commands } from './command.ts'

export const commands: Commands = {
  start: { summary: 'run the platform', load: () => import('./start.ts') },
  migrate: { summary: 'upgrade the database to this version', load: () => import('./migrate.ts') },
  backup: {
    takesArguments: true,
    summary: 'write a backup to a file: waypost backup <file>',
    load: () => import('./backup.ts'),
  },
  restore: {
    takesArguments: true,
    summary: 'restore a backup: waypost restore <file>',
    load: () => import('./restore.ts'),
  },
  doctor: { summary: 'check the installation and say what to do', load: () => import('./doctor.ts') },
  user: { takesArguments: true, summary: 'manage users: waypost user list', load: () => import('./user.ts') },
  key: {
    takesArguments: true,
    summary: 'manage API keys and signing keys: waypost key list',
    load: () => import('./key.ts'),
  },
  secrets: {
    takesArguments: true,
    verbs: ['status', 'rotate', 'finish'],
    summary: 'rotate the keys that seal secrets in the database: waypost secrets rotate',
    load: () => import('./secrets.ts'),
  },
  simulate: {
    takesArguments: true,
    summary: 'run simulated devices against the platform: waypost simulate --devices 10',
    load: () => import('./simulate.ts'),
  },
  vpn: {
    takesArguments: true,
    summary: 'run the VPN server beside the platform; waypost vpn config prints its configuration',
    load: () => import('./vpn.ts'),
  },
  rules: {
    takesArguments: true,
    verbs: ['try'],
    summary: 'try a rule on an event without effects: waypost rules try <file> --event <file>',
    load: () => import('./rules.ts'),
  },
  pipeline: {
    takesArguments: true,
    summary: 'try an ingest pipeline: waypost pipeline simulate <file>',
    load: () => import('./pipeline.ts'),
  },
  lorawan: {
    takesArguments: true,
    summary: 'try a payload formatter: waypost lorawan decode <codec> --bytes <hex> --port 1',
    load: () => import('./lorawan.ts'),
  },
  login: {
    takesArguments: true,
    summary: 'log in to a platform for the commands below: waypost login --url https://…',
    load: () => import('./login.ts'),
  },
  logout: { takesArguments: true, summary: 'end the session and forget the login', load: () => import('./logout.ts') },
  context: {
    takesArguments: true,
    summary: 'choose between several logins: waypost context use <name>',
    load: () => import('./context.ts'),
  },
  whoami: {
    takesArguments: true,
    summary: 'say who you are and what you may do',
    load: () => import('./whoami.ts'),
  },
  plan: {
    takesArguments: true,
    summary: 'show what apply would change: waypost plan -f <file or folder>',
    load: () => import('./plan.ts'),
  },
  apply: {
    takesArguments: true,
    summary: 'create and change what YAML documents describe: waypost apply -f <file or folder>',
    load: () => import('./apply.ts'),
  },
  export: {
    takesArguments: true,
    summary: 'write the objects of a tenant as YAML for apply',
    load: () => import('./export.ts'),
  },
  send: {
    takesArguments: true,
    summary: `send a message as a device: waypost send <endpoint> '{"temperature": 21}'`,
    load: () => import('./send.ts'),
  },
  tail: {
    takesArguments: true,
    summary: 'follow the messages and refusals of an endpoint: waypost tail <endpoint>',
    load: () => import('./tail.ts'),
  },
  watch: {
    takesArguments: true,
    summary: 'print points of time series as they arrive: waypost watch <application>',
    load: () => import('./watch.ts'),
  },
  open: {
    takesArguments: true,
    summary: 'open a page of the console: waypost open endpoints <id>',
    load: () => import('./open.ts'),
  },
  completion: {
    takesArguments: true,
    summary: 'print the completion of a shell: waypost completion bash',
    load: () => import('./completion.ts'),
  },
  console: {
    takesArguments: true,
    summary: 'build the web console for an image or package: waypost console build --out <folder>',
    load: () => import('./console.ts'),
  },
  config: { summary: 'show the effective settings and their origin', load: () => import('./config.ts') },
  openapi: { takesArguments: true, summary: 'print the API reference', load: () => import('./openapi.ts') },
}
