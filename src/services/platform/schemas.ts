import { DateTime, type TSchema, Type } from '../../kernel/schema.ts'

const text = (description: string) => Type.String({ description })
const integer = (description: string) => Type.Integer({ description })
const number = (description: string) => Type.Unsafe<number>({ type: 'number', description })
const flag = (description: string) => Type.Boolean({ description })
const optional = <T extends TSchema>(shape: T) => Type.Optional(shape)
const list = <T extends TSchema>(item: T, title: string, description: string) =>
  Type.Object({ content: Type.Array(item, { description }) }, { title, description })

export const readPlatform = {
  name: 'platform.get',
  summary: 'Get version, address and state of the platform',
  response: {
    200: Type.Object(
      {
        version: text('Version of the node that answers.'),
        runtime: text('Runtime of the node that answers, with its version.'),
        baseUrl: text('Public address of the platform.'),
        nodes: integer('Number of nodes that are alive.'),
        versions: Type.Array(text('A version.'), { description: 'Versions of all nodes; several during an upgrade.' }),
        diskLow: flag('True when changes are refused, because a disk of the node that answers has too little space.'),
        lastBackupAt: optional(
          DateTime({ description: 'End of the last successful backup. Omitted if no backup is known.' }),
        ),
      },
      { title: 'PlatformSummary', description: 'Summary of the state of the platform.' },
    ),
  },
}

const Usage = Type.Object(
  {
    host: text('Name of the machine on which the node runs.'),
    pid: integer('Id of the process of the node.'),
    runtime: text('Runtime of the node, with the version.'),
    uptimeSeconds: integer('Seconds since the process started.'),
    memory: Type.Object(
      {
        residentBytes: integer('Memory of the process, in bytes.'),
        heapBytes: integer('Used part of the JavaScript heap, in bytes.'),
        machineBytes: integer('Memory of the machine, in bytes.'),
      },
      { title: 'NodeMemory', description: 'Memory in bytes.' },
    ),
    cpuSeconds: number('Processor time since the start of the process, in seconds.'),
    cores: integer('Number of processor cores.'),
    loadAverage: number('Load average of the machine over the last minute.'),
    connections: Type.Object(
      {
        http: integer('Number of open HTTP connections.'),
        httpMax: integer('Maximum number of HTTP connections.'),
        mqtt: integer('Number of open MQTT connections.'),
        mqttMax: integer('Maximum number of MQTT connections.'),
      },
      { title: 'NodeConnections', description: 'Connections of clients and devices.' },
    ),
    disks: Type.Array(
      Type.Object(
        {
          name: text('Directory: data, blobs or database.'),
          freeBytes: number('Free space, in bytes.'),
          totalBytes: number('Size of the disk, in bytes.'),
          low: flag('True when the disk has less free space than the minimum (`WAYPOST_DISK_FREE_MIN_MB`).'),
        },
        { title: 'NodeDisk', description: 'The disk of a directory.' },
      ),
      { description: 'Disks of the directories that the node uses.' },
    ),
  },
  { title: 'NodeUsage', description: 'Processor time, memory and disk that the process uses.' },
)
const Node = Type.Object(
  {
    id: text('Id of the node, which gets a new id at each start.'),
    version: text('Version of the program.'),
    state: Type.Enum(['alive', 'gone'], {
      description: 'gone: the node stopped or has sent no heartbeat for five seconds.',
    }),
    current: flag('True when this node answers the request.'),
    startedAt: DateTime({ description: 'Time at which the node started, in UTC.' }),
    secondsSinceHeartbeat: number('Seconds since the last heartbeat of the node.'),
    addresses: Type.Record(Type.String(), Type.String(), {
      description: 'Addresses of the listeners of the node, by name.',
    }),
    usage: optional(Usage),
  },
  {
    title: 'Node',
    description: 'A process of the platform. `usage` is absent if the node did not answer within two seconds.',
  },
)
export const listNodes = {
  name: 'platform.nodes.list',
  summary: 'List the nodes of the platform',
  response: { 200: list(Node, 'Nodes', 'The nodes, the oldest first.') },
}

export const readDatabase = {
  name: 'platform.database.get',
  summary: 'Get size, connections and largest tables of the database',
  response: {
    200: Type.Object(
      {
        version: text('Version of PostgreSQL.'),
        startedAt: DateTime({ description: 'Time at which the server started, in UTC.' }),
        bytes: number('Size of the database, in bytes.'),
        connections: Type.Object(
          {
            total: integer('Number of connections of all programs to the server.'),
            active: integer('Number of connections that run a statement.'),
            ownConnections: integer('Number of connections of the nodes and commands of this platform.'),
            max: integer('Maximum number of connections to the server.'),
          },
          { title: 'DatabaseConnections', description: 'Connections to the server.' },
        ),
        longestTransactionSeconds: number('Age of the oldest open transaction, in seconds.'),
        tables: Type.Array(
          Type.Object(
            {
              schema: text('Schema: the service that owns the table.'),
              name: text('Name of the table.'),
              bytes: number('Size with indexes and all partitions, in bytes.'),
              rows: number('Number of rows, estimated by PostgreSQL.'),
            },
            { title: 'DatabaseTable', description: 'A table.' },
          ),
          { description: 'The 20 largest tables, the largest first.' },
        ),
      },
      { title: 'DatabaseStatus', description: 'The state of the database.' },
    ),
  },
}

export const listQueues = {
  name: 'platform.queues.get',
  summary: 'Get the work that waits: jobs, events and bulk tasks',
  response: {
    200: Type.Object(
      {
        jobs: Type.Array(
          Type.Object(
            {
              name: text('Type of the jobs.'),
              queued: integer('Number of jobs that wait for a worker.'),
              delayed: integer('Number of jobs that are scheduled for later.'),
              active: integer('Number of jobs that run.'),
              failed: integer('Number of jobs that failed after all retries, within the last week.'),
              countedAt: optional(
                DateTime({
                  description:
                    'Time at which the jobs were counted, in UTC. Omitted if the jobs have not been counted yet.',
                }),
              ),
            },
            { title: 'JobQueue', description: 'Jobs of one type.' },
          ),
          { description: 'All job queues.' },
        ),
        events: Type.Array(
          Type.Object(
            {
              subscription: text('The handler that the events wait for.'),
              waiting: integer('Number of events that are not delivered yet.'),
              failing: integer('Number of sequences of events whose oldest event has failed and is retried.'),
              oldestAt: DateTime({ description: 'Time at which the oldest event was published, in UTC.' }),
            },
            { title: 'EventQueue', description: 'Events for one handler.' },
          ),
          { description: 'Handlers with waiting events.' },
        ),
        bulk: Type.Array(
          Type.Object(
            {
              type: text('Type of the tasks.'),
              state: text('State of the tasks: prepared, waiting or running.'),
              tasks: integer('Number of tasks.'),
              oldestAt: DateTime({ description: 'Time at which the oldest task was created, in UTC.' }),
            },
            { title: 'BulkQueue', description: 'Bulk tasks of one type and state.' },
          ),
          { description: 'Bulk tasks that are not finished.' },
        ),
      },
      { title: 'Queues', description: 'Work of all tenants that waits or runs.' },
    ),
  },
}

const Run = Type.Object(
  {
    kind: Type.Enum(['backup', 'restore'], { description: 'Command that ran.' }),
    startedAt: DateTime({ description: 'Time at which the command started, in UTC.' }),
    finishedAt: DateTime({ description: 'Time at which the command ended, in UTC.' }),
    host: text('Machine on which the command ran.'),
    file: text('File that was written or read.'),
    program: text('Version of the program.'),
    encrypted: flag('True when the file is encrypted with a passphrase.'),
    withContents: flag('True when contents of files and blobs were included.'),
    tables: optional(integer('Number of tables.')),
    rows: optional(number('Number of rows.')),
    bytes: optional(number('Size of the file.')),
    sha256: optional(text('SHA-256 of the backup.')),
    problem: optional(text('Reason why the command failed. Omitted if the command succeeded.')),
  },
  { title: 'BackupRun', description: 'A backup or restore that ran.' },
)
export const listBackups = {
  name: 'platform.backups.list',
  summary: 'List backups and restores that ran',
  description: 'The last 100 runs of `waypost backup` and `waypost restore` on this installation.',
  response: { 200: list(Run, 'BackupRuns', 'The runs, the newest first.') },
}

const Setting = Type.Object(
  {
    name: text('Name of the environment variable.'),
    owner: text('Service that it belongs to, or `platform`.'),
    value: optional(text('Value in effect; `********` if it is a secret. Omitted if it is not set.')),
    default: optional(text('Default value. Omitted if the setting has no default.')),
    origin: Type.Enum(['default', 'environment', 'file'], { description: 'Source of the value.' }),
    secret: flag('True when the value is never shown.'),
    meaning: text('Description of the setting.'),
  },
  { title: 'SettingInEffect', description: 'A setting with its value.' },
)
export const listSettings = {
  name: 'platform.settings.list',
  summary: 'List the settings in effect',
  description: 'Settings of the node that answers. Secrets are masked.',
  response: { 200: list(Setting, 'SettingsInEffect', 'All settings.') },
}
