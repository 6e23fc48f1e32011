// What a hostile package can try with JavaScript alone. Each attempt answers with what it read, or with `done`;
// one that fails answers with its error.
const child = require('node:child_process');
const dgram = require('node:dgram');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');

const WORD = 'pwned';

function attempts({ outside, beside, victim, tcp, udp, name }, workspace) {
  const at = (path) => `${workspace}/${path}`;
  const text = (path) => fs.readFileSync(path, 'utf8');
  // What was made for an attempt is taken away again, since no run keeps it.
  const by = (path, make) => {
    make(path);
    try {
      return text(path);
    } finally {
      fs.unlinkSync(path);
    }
  };
  const connect = (...to) =>
    new Promise((yes, no) => {
      const socket = net.connect(...to, () => socket.write(WORD, () => yes(void socket.destroy())));
      socket.on('error', no);
    });
  const listen = (...where) =>
    new Promise((yes, no) => {
      const server = net.createServer().on('error', no);
      server.listen(...where, () => server.close(yes));
    });
  const send = () =>
    new Promise((yes, no) => {
      const socket = dgram.createSocket('udp4').on('error', no);
      socket.send(WORD, udp, '127.0.0.1', (error) => socket.close(() => (error ? no(error) : yes())));
    });
  return {
    'read by its path': () => text(`${outside}/secret`),
    'read by a path with dots': () => text(at('../beside/secret')),
    'read by a link that was there': () => text(at('given')),
    'read by a link that it made': () => by(at('made'), (path) => fs.symlinkSync(`${outside}/secret`, path)),
    'read by a hard link': () => by(at('hard'), (path) => fs.linkSync(`${beside}/secret`, path)),
    'read by its own root': () => text(`/proc/self/root${outside}/secret`),
    'read by the root of another': () => text(`/proc/${victim}/root${outside}/secret`),
    'read by the directory of another': () => text(`/proc/${victim}/cwd/secret`),
    'read in a child': () => child.execFileSync('cat', [`${outside}/secret`], { stdio: 'pipe' }),
    'read the names in a directory': () => fs.readdirSync(outside).join(' '),
    'read where a link leads': () => fs.readlinkSync(`${outside}/link`),
    'read its own environment': () => Object.values(process.env).join(' '),
    'read the environment of another': () => text(`/proc/${victim}/environ`),
    'read the command lines of all': () =>
      fs.readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)).map((entry) => {
        try {
          return text(`/proc/${entry}/cmdline`);
        } catch {
          return '';
        }
      }).join(' '),
    'write a file outside': () => fs.writeFileSync(`${outside}/file`, WORD, { flag: 'r+' }),
    'write it through a link': () => fs.writeFileSync(at('given-directory/file'), WORD),
    'write it by its own root': () => fs.appendFileSync(`/proc/self/root${outside}/file`, WORD, { flag: 'r+' }),
    'make a file outside': () => fs.writeFileSync(`${outside}/new`, WORD),
    'make a directory outside': () => fs.mkdirSync(`${outside}/directory`),
    'make a link outside': () => fs.symlinkSync('file', `${outside}/new-link`),
    'cut a file outside': () => fs.truncateSync(`${outside}/file`),
    'change the mode of a file outside': () => fs.chmodSync(`${outside}/file`, 0o600),
    'change the times of a file outside': () => fs.utimesSync(`${outside}/file`, 1, 1),
    'take a file from outside': () => {
      fs.renameSync(`${beside}/taken`, at('taken'));
      fs.unlinkSync(at('taken'));
    },
    'delete a file outside': () => fs.unlinkSync(`${outside}/file`),
    'write in the system': () => fs.mkdtempSync(`/var/tmp/pwned-${name}-`),
    'make a file that runs as its owner': () => {
      fs.writeFileSync(at('owned'), '');
      try {
        fs.chmodSync(at('owned'), 0o4755);
      } finally {
        fs.unlinkSync(at('owned'));
      }
    },
    'see a process': () => process.kill(victim, 0),
    'change the priority of a process': () => os.setPriority(victim, 5),
    'stop a process': () => process.kill(victim, 'SIGSTOP'),
    'kill a process': () => process.kill(victim, 'SIGKILL'),
    'connect by TCP': () => connect(tcp, '127.0.0.1'),
    'connect to a socket by its path': () => connect(`${outside}/stream`),
    'send by UDP': send,
    'listen by TCP': () => listen(0, '127.0.0.1'),
    'listen at a path': () => listen(`/tmp/pwned-${name}`),
  };
}

module.exports = async ({ input, context }) => {
  const answers = {};
  for (const [name, act] of Object.entries(attempts(input, context.workspace))) {
    try {
      answers[name] = String((await act()) ?? 'done');
    } catch (error) {
      answers[name] = `failed: ${error.code ?? error.message}`;
    }
  }
  // It stays behind, deaf to what asks it to end, with nothing that is ours.
  const script = `trap '' HUP INT TERM; for i in $(seq 100); do sleep 0.1; done # ${input.name}`;
  child.spawn('/bin/sh', ['-c', script], { detached: true, stdio: 'ignore' }).unref();
  fs.writeFileSync(`${context.workspace}/a.txt`, 'two\n');
  return { answers };
};
