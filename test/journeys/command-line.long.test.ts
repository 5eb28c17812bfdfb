/** The command line against a real platform: operations, logins, outputs and failures. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openCommands } from '../harness/commands.ts'
import { afterAllTests, temporaryDirectory } from '../harness/database.ts'
import { commandsOf } from '../harness/documents.ts'
import { eventually } from '../harness/eventually.ts'
import { environmentOf, runCommand, startPlatform } from '../harness/platform.ts'
import { atTerminal } from '../harness/terminal.ts'

const { directory, baseUrl, bootstrap } = await startPlatform()
const commands = openCommands()
const home = temporaryDirectory()
const userFolder = { XDG_CONFIG_HOME: home }
const contextsFile = join(home, 'waypost', 'contexts.json')
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal would execute these characters
const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/

/** Runs a command with the data directory of the platform, which contains bootstrap.json. */
const waypost = (...args: string[]) => commands(args, { directory, environment: userFolder })
/** Runs a command without bootstrap.json, as on a machine other than the server. */
const withoutBootstrap = (args: string[], environment: Record<string, string> = {}) =>
  commands(args, { directory: temporaryDirectory(), environment: { ...userFolder, ...environment } })

async function output(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await waypost(...args)
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
  return stdout
}

test('open prints the address of the page of an object, and opens the page in the browser', async () => {
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  const seen = join(folder, 'seen')
  for (const name of ['xdg-open', 'open'])
    writeFileSync(join(folder, name), `#!/bin/sh\nprintf '%s' "$1" > '${seen}'\n`, { mode: 0o755 })
  const page = `${baseUrl}/console/default/endpoints/tree%2F1`
  const environment = { ...userFolder, PATH: `${folder}:${process.env.PATH}` }
  const { code, stdout, stderr } = await commands(['open', 'endpoints', 'tree/1'], { directory, environment })
  assert.deepEqual([code, stdout, stderr], [0, `${page}\n`, ''])
  await eventually(() => assert.equal(readFileSync(seen, 'utf8'), page))
  assert.equal(await output('open', 'tenants', '--no-browser'), `${baseUrl}/console/platform/tenants\n`)
  const wrong = await waypost('open', 'endpoint', 'tree-1')
  assert.deepEqual([wrong.code, /no page of endpoint/.test(wrong.stderr)], [2, true])
  assert.equal((await withoutBootstrap(['open', 'endpoints'])).code, 4)
})

test('objects are created, listed in every format, changed and deleted', async () => {
  assert.equal(
    await output('applications', 'create', '--name', 'orchard', '--display-name', 'Obst & Nüsse'),
    'orchard\n',
  )
  assert.equal(await output('applications', 'versions', 'create', 'orchard', '--name-suffix', 'v1'), 'orchard-v1\n')
  const body = join(home, 'tree.yaml')
  writeFileSync(
    body,
    'appVersion: { name: orchard-v1 }\nmetadata:\n  kind: "apple, red"\n  note: "a\\u001b[31m\\u009b31mb"\n',
  )
  for (const id of ['tree-1', 'tree-2', 'tree-3'])
    assert.match(
      await output('endpoints', 'create', '-f', body, '--endpoint-id', id),
      new RegExp(`^endpointId +${id}\n`),
    )
  const list = ['endpoints', 'list', '--application-name', 'orchard', '--page-size', '2']
  assert.equal(await output(...list, '-o', 'id'), 'tree-1\ntree-2\ntree-3\n')
  assert.equal(await output(...list, '-o', 'id', '--limit', '1'), 'tree-1\n')
  assert.equal(JSON.parse(await output(...list, '-o', 'json')).length, 3)
  assert.match(await output(...list, '-o', 'yaml'), /^- endpointId: tree-1\n/)
  // Columns without values, such as metadata that were not requested, are left out.
  assert.match(await output(...list), /^ENDPOINTID +CREATEDDATE +APPNAME\ntree-1 /)
  const columns = ['--include', 'metadata', '--columns', 'endpointId,metadata.kind', '--limit', '1']
  assert.equal(await output(...list, ...columns, '-o', 'csv'), 'endpointId,metadata.kind\ntree-1,"apple, red"\n')
  const shown = await output('endpoints', 'get', 'tree-1', '--include', 'metadata')
  assert.ok(!shown.includes('\u001b'), 'the output to a terminal must not contain control characters')
  assert.match(shown, /\\\\u001b|\\u001b/)
  for (const format of ['csv', 'json', 'yaml']) {
    const command = ['endpoints', 'get', 'tree-1', '--include', 'metadata', '-o', format]
    const terminal = atTerminal(`bin/waypost ${command.join(' ')}`, environmentOf(directory, userFolder))
    assert.equal(await terminal.exit, 0, terminal.output())
    assert.match(terminal.output(), /tree-1.*31mb/s)
    assert.doesNotMatch(terminal.output(), controlCharacters, format)
    assert.match(await output(...command), /\u009b/, 'the output for programs must contain the unchanged value')
  }
  const mistyped = await waypost(...list, '--columns', 'endpointId,metdata.kind')
  assert.deepEqual([mistyped.code, /no column "metdata\.kind", only endpointId/.test(mistyped.stderr)], [2, true])
  const narrow = atTerminal(
    `sh -c 'stty cols 40; exec bin/waypost ${list.join(' ')}'`,
    environmentOf(directory, userFolder),
  )
  assert.equal(await narrow.exit, 0, narrow.output())
  assert.match(
    narrow.output(),
    /ENDPOINTID {2}CREATEDDATE\r\n/,
    'a terminal of 40 columns has no space for the column APPNAME',
  )
  assert.equal(await output('endpoints', 'delete', 'tree-3'), '')
  assert.equal(await output(...list, '-o', 'id'), 'tree-1\ntree-2\n')
})

test('send sends a message as a device, and tail prints the message in the traffic of the device', async () => {
  assert.equal(await output('send', 'tree-1', '{"temperature": 21}'), 'Accepted.\n')
  await eventually(async () => {
    assert.match(await output('tail', 'tree-1', '--once'), /received +dcx\/json \{"temperature":21\}\n/)
  })
  const [line] = (await output('tail', 'tree-1', '--once', '-o', 'json')).split('\n')
  assert.equal(JSON.parse(line!).extension, 'dcx')
  let [followed, tail]: [string, ChildProcess | undefined] = ['', undefined]
  const ended = runCommand(['tail', 'tree-1'], {
    directory,
    environment: userFolder,
    onSpawn(child) {
      tail = child
      child.stdout!.on('data', (text) => (followed += text))
    },
  })
  await eventually(() => assert.match(followed, /received +dcx\/json \{"temperature":21\}\n/), { withinMs: 30_000 })
  assert.equal(await output('send', 'tree-1', '{"temperature": 22}'), 'Accepted.\n')
  await eventually(() => assert.match(followed, /received +dcx\/json \{"temperature":22\}\n/))
  tail!.kill('SIGINT')
  await ended
  // The token that `send` created for the message has been deleted.
  assert.equal((await output('tokens', 'list', 'tree-1', '-o', 'id')).trim().split('\n').length, 1)
})

test('a dry run prints curl without secrets and sends nothing', async () => {
  const curl = await output('users', 'create', '--username', 'ghost', '--password', 'correct horse', '--dry-run')
  assert.match(
    curl,
    /^curl -X POST 'http:\/\/127\.0\.0\.1:\d+\/iam\/api\/v1\/users' -H "authorization: Bearer \$TOKEN"/,
  )
  assert.ok(!curl.includes('correct horse'))
  const secret = await output('secrets', 'create', '--name', 's', '--value', 'battery staple', '--dry-run')
  assert.match(secret, /"name":"s","value":"\*{8}"/)
  const message = [
    'devices',
    'messages',
    'send',
    'orchard-v1',
    'dcx',
    'device-secret',
    'json',
    '-f',
    join(home, 'tree.yaml'),
  ]
  assert.match(await output(...message, '--dry-run'), /\/kp1\/orchard-v1\/dcx\/\*{8}\/json'/)
  const upload = ['files', 'upload', 'f', '--x-auth-token', 'upload-token', '--file', import.meta.filename, '--dry-run']
  assert.match(
    await output(...upload),
    new RegExp(`'x-auth-token: \\*{8}' .*--data-binary '@${import.meta.filename}'\\n$`, 'i'),
  )
  assert.ok(!(await output('users', 'list', '-o', 'csv')).includes('ghost'))
})

test('each kind of failure has its own exit code, and the message says what to do', async () => {
  const missing = await waypost('endpoints', 'get', 'nobody')
  assert.equal(missing.code, 3)
  assert.match(missing.stderr, /^waypost: There is no endpoint nobody.*\n {2}correlation id: \S+\n$/)
  assert.equal((await waypost('applications', 'create', '--name', 'orchard')).code, 5)
  assert.equal((await waypost('applications', 'create', '--name', 'Not A Name')).code, 1)
  const typo = await waypost('endpoint', 'list')
  assert.deepEqual([typo.code, typo.stdout], [2, ''])
  assert.match(typo.stderr, /there is no command endpoint; the nearest is endpoints/)
  const verb = await waypost('endpoints', 'lst')
  assert.deepEqual([verb.code, verb.stdout], [2, ''])
  assert.match(verb.stderr, /^waypost: endpoints has no lst, only these:\n\n {2}waypost endpoints create /)
  assert.match((await waypost('tail')).stderr, /^waypost: expected an endpoint\n\nusage: waypost tail/)
  assert.equal((await waypost('endpoints', 'list', '--nonsense')).code, 2)
  assert.equal((await withoutBootstrap(['endpoints', 'list'])).code, 4)
  const noServer = { WAYPOST_URL: 'http://127.0.0.1:9', WAYPOST_API_KEY: 'x' }
  assert.equal((await withoutBootstrap(['endpoints', 'list'], noServer)).code, 6)
  const download = ['files', 'download', 'orchard', 'tree-1', 'night.log', '--save', join(home, 'none', 'f')]
  assert.match(await output(...download.slice(0, 2), '--help'), /\n {2}--save <file> /)
  const { token } = JSON.parse(await output('files', 'upload-tokens', 'create', 'orchard', 'tree-1', '-o', 'json'))
  const upload = ['files', 'upload', 'night.log', '--x-auth-token', token, '-f', import.meta.filename]
  assert.equal(await output(...upload), '')
  const unwritable = await waypost(...download)
  assert.deepEqual([unwritable.code, /^waypost: ENOENT: .*none.*\n$/.test(unwritable.stderr)], [1, true])
  const noExtension = await waypost('send', 'tree-1', '{"t": 1}', '--extension', 'none')
  assert.deepEqual([noExtension.code, /^waypost: There is no extension none,/.test(noExtension.stderr)], [3, true])
  const wrongKey = await withoutBootstrap(['endpoints', 'list'], { WAYPOST_URL: baseUrl, WAYPOST_API_KEY: 'x' })
  assert.deepEqual([wrongKey.code, /next: waypost login/.test(wrongKey.stderr)], [4, true])
})

test('a command fails if its output cannot be written, but keeps its exit code if the program that reads its pipe has ended', () => {
  const inShell = (script: string) => spawnSync('bash', ['-c', script], { encoding: 'utf8' })
  const full = inShell('bin/waypost help > /dev/full')
  assert.deepEqual([full.status, full.stderr.slice(0, 52)], [1, 'waypost: the output could not be written: ENOSPC: no'])
  const gone = inShell('bin/waypost no-such-noun 2> >(exec 0<&-; exit) ; echo $?')
  assert.deepEqual([gone.stdout, gone.stderr], ['2\n', ''])
})

test('a server that is not a platform is reported in one sentence', async () => {
  const answers: Record<string, [type: string, body: string]> = {
    '/html': ['text/html', '<html>hello</html>'],
    '/half': ['application/json', '{"content": ['],
    '/other': ['application/json', '{"content": 5}'],
    '/items': ['application/json', '{"content": [5], "totalElements": 1}'],
    '/number': ['application/json', '5'],
    '/null': ['application/json', 'null'],
    '/array': ['application/json', '[null]'],
    '/text': ['text/plain', 'hello'],
    '/empty': ['text/plain', ''],
  }
  const server = createServer(({ url }, response) => {
    const [type, body] = Object.entries(answers).find(([path]) => url?.startsWith(path))![1]
    response.writeHead(200, { 'content-type': type }).end(body)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  afterAllTests(() => void server.close())
  const { port } = server.address() as AddressInfo
  for (const path of Object.keys(answers))
    for (const text of [
      'endpoints list',
      'endpoints get e',
      'whoami',
      'send e 5',
      'tail e --once',
      'open endpoints e --no-browser',
      'export --kind role',
    ]) {
      const words = text.split(' ')
      // An object with unknown fields could be the answer of a platform, so the command does not report it.
      if (words[1] === 'get' && ['/other', '/items'].includes(path)) continue
      const environment = { WAYPOST_URL: `http://127.0.0.1:${port}${path}`, WAYPOST_API_KEY: 'x' }
      const { code, stderr } = await withoutBootstrap(words, environment)
      assert.equal(code, 1, `${path}: ${text}: ${stderr}`)
      assert.match(stderr, /^waypost: .+\n/)
      assert.ok(!stderr.includes('    at '), stderr)
    }
  answers['/deep'] = [
    'application/json',
    `{"totalElements": 1, "content": [${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}]}`,
  ]
  for (const format of ['json', 'yaml']) {
    const environment = { WAYPOST_URL: `http://127.0.0.1:${port}/deep`, WAYPOST_API_KEY: 'x' }
    const { code, stderr } = await withoutBootstrap(['me', 'get', '-o', format], environment)
    assert.deepEqual([code, stderr], [1, 'waypost: the data is nested too deeply\n'], format)
  }
})

test('a login at a server that is not a platform, or with a key that no header can contain, stores nothing', async () => {
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('5'))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  afterAllTests(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const folder = { XDG_CONFIG_HOME: temporaryDirectory() }
  const login = (key: string | Buffer) =>
    runCommand(['login', '--url', url, '--api-key'], {
      environment: folder,
      onSpawn: (child) => child.stdin!.end(key),
    })
  const other = await login('key\n')
  assert.deepEqual([other.code, /^waypost: The answer to me\.get has no tenantId/.test(other.stderr)], [1, true])
  for (const key of ['two words\n', Buffer.from([0x6b, 0xff, 0x0a])]) {
    const invalid = await login(key)
    assert.deepEqual([invalid.code, /^waypost: The API key /.test(invalid.stderr)], [2, true], invalid.stderr)
  }
  assert.equal(existsSync(join(folder.XDG_CONFIG_HOME, 'waypost')), false)
})

test('the login of a backend client is stored in a file that only this user can read, and is used for this platform only', async () => {
  const { id, secret } = bootstrap.default.backendClient
  const login = await new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    runCommand(['login', '--url', baseUrl, '--client', id, '--name', 'field'], {
      environment: userFolder,
      onSpawn: (child) => child.stdin!.end(`${secret}\n`),
    }).then(resolve, reject)
  })
  assert.equal(login.code, 0, login.stderr)
  assert.equal(statSync(contextsFile).mode & 0o777, 0o600)
  const list = ['endpoints', 'list', '-o', 'id']
  assert.match((await withoutBootstrap(list)).stdout, /tree-1/)
  assert.match((await withoutBootstrap(['whoami'])).stdout, new RegExp(`^${id} \\(client\\) of tenant default\n`))
  assert.match((await withoutBootstrap(['context', 'list'])).stdout, /^\* field /)
  const other = await withoutBootstrap(list, { WAYPOST_URL: 'http://127.0.0.1:9' })
  assert.deepEqual([other.code, /sent nowhere else/.test(other.stderr)], [2, true])
  chmodSync(contextsFile, 0o644)
  const readable = await withoutBootstrap(list)
  assert.deepEqual([readable.code, /chmod 600/.test(readable.stderr)], [1, true])
  chmodSync(contextsFile, 0o600)
  // After a logout, no other stored login is used automatically. The message names the stored logins.
  const kept = JSON.parse(readFileSync(contextsFile, 'utf8'))
  kept.contexts.barn = { url: baseUrl, tenant: 'default' }
  writeFileSync(contextsFile, JSON.stringify(kept), { mode: 0o600 })
  assert.equal((await withoutBootstrap(['completion', 'words', '--', 'context', 'use'])).stdout, 'field\nbarn\n')
  assert.equal((await withoutBootstrap(['logout'])).code, 0)
  assert.ok(!readFileSync(contextsFile, 'utf8').includes(secret))
  const unchosen = await withoutBootstrap(list)
  assert.equal(unchosen.stderr, 'waypost: no login is chosen: run waypost context use <name>, with one of barn\n')
  assert.equal(unchosen.code, 4)
  assert.equal((await withoutBootstrap(['context', 'use', 'barn', 'field'])).code, 2)
  assert.match((await withoutBootstrap(['context', 'use'])).stderr, /^waypost: use: expected the name of one context\n/)
  assert.match((await withoutBootstrap(['context', 'drop', 'barn'])).stderr, /^waypost: there is no action drop\n/)
  assert.equal((await withoutBootstrap(['context', 'delete', 'barn'])).code, 0)
  assert.equal((await withoutBootstrap(list)).code, 4)
})

test('a login with an API key is stored with the tenant of the key', async () => {
  const { key } = JSON.parse(await output('api-keys', 'create', '--name', 'field', '-o', 'json'))
  const logIn = (...words: string[]) =>
    runCommand(['login', '--url', baseUrl, '--api-key', ...words], {
      environment: userFolder,
      onSpawn: (child) => child.stdin!.end(`${key}\n`),
    })
  const other = await logIn('--tenant', 'acme')
  assert.deepEqual([other.code, other.stderr], [2, 'waypost: the login is of tenant default, not acme\n'])
  assert.equal((await logIn('--client', 'c')).code, 2)
  const { code, stdout, stderr } = await logIn()
  assert.equal(code, 0, stderr)
  const name = `${new URL(baseUrl).host}/default`
  assert.ok(stdout.includes(`of tenant default (context ${name})`), stdout)
  assert.match((await withoutBootstrap(['whoami', '--context', name])).stdout, /\(api-key\) of tenant default\n/)
  assert.equal((await withoutBootstrap(['logout'])).code, 0)
})

test('when several commands run at the same time, only one command renews the login that was made with the browser', async () => {
  const { username, password } = bootstrap.default.admin
  let address = ''
  const login = runCommand(['login', '--url', baseUrl, '--no-browser', '--name', 'person'], {
    environment: userFolder,
    onSpawn: (child) =>
      child.stderr!.on('data', (text) => {
        address += text
      }),
  })
  await eventually(async () => assert.match(address, /http\S+\n/))
  await logInAsABrowser(address.match(/http\S+/)![0], username, password!)
  const { code, stderr } = await login
  assert.equal(code, 0, stderr)
  const contexts = JSON.parse(readFileSync(contextsFile, 'utf8'))
  contexts.contexts.person.login.session.expiresAt = Date.now()
  writeFileSync(contextsFile, JSON.stringify(contexts), { mode: 0o600 })
  const answers = await Promise.all(
    [1, 2, 3].map(() => runCommand(['endpoints', 'list', '-o', 'id'], { environment: userFolder })),
  )
  assert.deepEqual(
    answers.map((answer) => answer.code),
    [0, 0, 0],
    answers.map((answer) => answer.stderr).join(),
  )
  const { clientId, tenant, refreshToken } = JSON.parse(readFileSync(contextsFile, 'utf8')).contexts.person.login
    .session
  const logout = await runCommand(['logout', '--context', 'person'], { environment: userFolder })
  assert.deepEqual([logout.code, logout.stdout], [0, 'Logged out of person.\n'], logout.stderr)
  assert.doesNotMatch(readFileSync(contextsFile, 'utf8'), /person/)
  const again = await fetch(`${baseUrl}/auth/realms/${tenant}/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken }),
  })
  assert.equal(again.status, 400, 'the platform has ended the session')
})

/** Logs in with the form of the login page and keeps its cookies, as a browser does. */
async function logInAsABrowser(address: string, username: string, password: string) {
  const cookies = new Map<string, string>()
  let [url, form]: [string, URLSearchParams | undefined] = [address, undefined]
  for (let steps = 0; steps < 10; steps++) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: form }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    const location = response.headers.get('location')
    form = undefined
    if (location) url = new URL(location, url).href
    else if (new URL(url).pathname === '/callback') return
    else {
      const page = await response.text()
      const action = /<form[^>]*action="([^"]*)"/.exec(page)
      assert.ok(action, page.slice(0, 500))
      form = new URLSearchParams({ username, password })
      for (const [, name, value] of page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g))
        form.set(name!, value!)
      url = new URL(action[1]!.replaceAll('&amp;', '&'), url).href
    }
  }
  assert.fail('the login did not end')
}

test('the commands of the guide run unchanged', () => {
  const program = join(home, 'bin', 'waypost')
  mkdirSync(join(home, 'bin'))
  const main = fileURLToPath(new URL('../../bin/main.mjs', import.meta.url))
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 })
  const environment = environmentOf(directory, {
    XDG_CONFIG_HOME: temporaryDirectory(),
    PATH: `${join(home, 'bin')}:${process.env.PATH}`,
  })
  const input = commandsOf('docs/guides/cli.md').join('\n')
  const { status, stdout, stderr } = spawnSync('sh', ['-eu'], { input, cwd: home, env: environment, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /^waypost-backend \(client\) of tenant default\n/)
  assert.match(stdout, /\nendpointId,metadata.city\nmeadow-1,Lviv\nmeadow-2,Lviv\n/)
  assert.match(stdout, /\nAccepted\.\n/)
  assert.match(stdout, /\n0 to create, 0 to change, 0 to delete, 3 unchanged\.\n/)
})

test('the completion scripts for bash, zsh and fish complete verbs', async () => {
  assert.match(await output('completion', 'words', 'endpoints'), /^create\nlist\n/)
  // For bash and zsh, the test calls the completion function as the shell does after the Tab key. In zsh, the test replaces `compadd`,
  // which would show the list.
  const calls: Record<string, string> = {
    bash: 'COMP_WORDS=(waypost endpoints l); COMP_CWORD=2; _waypost; printf "%s\\n" "$COMPREPLY"',
    zsh: 'compadd() { print -l -- $found }; words=(waypost endpoints l); CURRENT=3; _waypost',
    fish: 'complete -C "waypost endpoints l"',
  }
  const shellEnvironment = { ...process.env, PATH: `${join(import.meta.dirname, '../../bin')}:${process.env.PATH}` }
  for (const [shell, call] of Object.entries(calls)) {
    const script = `${await output('completion', shell)}\n${call}`
    const { stdout, stderr } = spawnSync(shell, ['-c', script], { env: shellEnvironment, encoding: 'utf8' })
    assert.equal(stderr, '', shell)
    assert.ok(stdout.split('\n').includes('list'), `${shell}: ${stdout}`)
  }
})
