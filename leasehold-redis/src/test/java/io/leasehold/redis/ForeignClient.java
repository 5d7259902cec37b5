package io.leasehold.redis;

import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.SetParams;

/** A foreign client: plain {@code SET NX PX} to lock, compare-and-delete to release. */
interface ForeignClient {

    String COMPARE_AND_DELETE =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

    /** Sets the key; returns whether that succeeded. */
    boolean lock(int port, String key, String value, long ttlMillis);

    /** Deletes the key if it has this value; returns whether it did. */
    boolean unlock(int port, String key, String value);

    static Stream<ForeignClient> all() {
        return Stream.of(new RedisCli(), new JedisClient(), new Python());
    }

    /** {@code redis-cli}, as in a shell script. */
    final class RedisCli implements ForeignClient {
        @Override
        public boolean lock(int port, String key, String value, long ttlMillis) {
            return call(port, "SET", key, value, "NX", "PX", Long.toString(ttlMillis))
                    .equals("OK");
        }

        @Override
        public boolean unlock(int port, String key, String value) {
            return call(port, "EVAL", COMPARE_AND_DELETE, "1", key, value).equals("1");
        }

        private static String call(int port, String... command) {
            List<String> line = new ArrayList<>(
                    List.of(BundledBinaries.redisCli().toString(), "-h", "127.0.0.1", "-p", Integer.toString(port)));
            line.addAll(List.of(command));
            return Programs.run(line);
        }

        @Override
        public String toString() {
            return "redis-cli";
        }
    }

    /** Jedis, as in another Java program. */
    final class JedisClient implements ForeignClient {
        @Override
        public boolean lock(int port, String key, String value, long ttlMillis) {
            try (Jedis jedis = new Jedis("127.0.0.1", port)) {
                return "OK"
                        .equals(jedis.set(key, value, SetParams.setParams().nx().px(ttlMillis)));
            }
        }

        @Override
        public boolean unlock(int port, String key, String value) {
            try (Jedis jedis = new Jedis("127.0.0.1", port)) {
                return Long.valueOf(1).equals(jedis.eval(COMPARE_AND_DELETE, List.of(key), List.of(value)));
            }
        }

        @Override
        public String toString() {
            return "Jedis";
        }
    }

    /** The redis package of Python, with the {@code Lock} that it brings. */
    final class Python implements ForeignClient {
        private static final String INTERPRETER = System.getenv().getOrDefault("LEASEHOLD_PYTHON", "/usr/bin/python3");

        @Override
        public boolean lock(int port, String key, String value, long ttlMillis) {
            return python("""
                            lock = Lock(client, sys.argv[2], timeout=int(sys.argv[4]) / 1000, blocking=False)
                            print(lock.acquire(token=sys.argv[3]))
                            """, port, key, value, Long.toString(ttlMillis)).equals("True");
        }

        @Override
        public boolean unlock(int port, String key, String value) {
            return python("""
                            lock = Lock(client, sys.argv[2])
                            lock.local.token = sys.argv[3].encode()
                            try:
                                lock.release()
                                print(True)
                            except redis.exceptions.LockNotOwnedError:
                                print(False)
                            """, port, key, value).equals("True");
        }

        private static String python(String script, int port, String... arguments) {
            if (!Path.of(INTERPRETER).toFile().canExecute()
                    || Programs.exitCode(List.of(INTERPRETER, "-c", "import redis")) != 0) {
                return abort("no Python with the package redis at " + INTERPRETER + ": install python3-redis");
            }
            List<String> line = new ArrayList<>(List.of(INTERPRETER, "-c", """
                    import sys, redis
                    from redis.lock import Lock
                    client = redis.Redis(host='127.0.0.1', port=int(sys.argv[1]))
                    """ + script, Integer.toString(port)));
            line.addAll(List.of(arguments));
            return Programs.run(line);
        }

        @Override
        public String toString() {
            return "Python";
        }
    }

    /** Runs other programs. */
    final class Programs {
        private Programs() {}

        /** Runs a program, which must succeed, and returns its output without the end of the line. */
        static String run(List<String> line) {
            try {
                Process process = start(line);
                String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                if (!process.waitFor(60, TimeUnit.SECONDS) || process.exitValue() != 0) {
                    throw new AssertionError(line.get(0) + " failed: " + output);
                }
                return output.strip();
            } catch (IOException e) {
                throw new AssertionError(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError(e);
            }
        }

        static int exitCode(List<String> line) {
            try {
                Process process = start(line);
                process.getInputStream().readAllBytes();
                return process.waitFor();
            } catch (IOException e) {
                return -1;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return -1;
            }
        }

        // A process forked while the program was being written holds it open until it execs: "text file busy".
        private static Process start(List<String> line) throws IOException {
            for (int attempt = 1; ; attempt++) {
                try {
                    Process process =
                            new ProcessBuilder(line).redirectErrorStream(true).start();
                    process.getOutputStream().close();
                    return process;
                } catch (IOException e) {
                    if (attempt == 50 || !String.valueOf(e.getMessage()).contains("error=26")) {
                        throw e;
                    }
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(attempt));
                }
            }
        }
    }
}
