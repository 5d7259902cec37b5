package io.leasehold.servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class RedisServerTest {
    @TempDir
    Path temporary;

    @BeforeAll
    static void aServerIsAvailable() {
        try {
            RedisBinary.find();
        } catch (ServerUnavailableException e) {
            Assumptions.abort(e.getMessage());
        }
    }

    @Test
    void startsAndAnswersOnItsPort() {
        try (RedisServer server = RedisServer.start()) {
            assertThat(server.call("SET", "k", "v")).isEqualTo("OK");
            assertThat(server.call("GET", "k")).isEqualTo("v");
            assertThat(server.call("GET", "absent")).isEmpty();
            assertThat(server.uri()).isEqualTo("redis://127.0.0.1:" + server.port());
            assertThat(server.call("INFO", "server")).contains("process_id:" + server.pid() + "\r");
            assertThat(server.call("INFO", "server")).contains(":" + server.version());
            assertThat(server.port() + PortReservation.BUS_OFFSET).isLessThan(32_768);
        }
    }

    @Test
    void closeEndsTheProcessAndDeletesItsDirectory() {
        long pid;
        Path directory;
        try (RedisServer server = RedisServer.start()) {
            pid = server.pid();
            directory =
                    Path.of(server.call("CONFIG", "GET", "dir").lines().toList().get(1));
            assertThat(directory).isDirectory();
            server.close();
            assertThat(server.isRunning()).isFalse();
        }
        assertThat(ProcessHandle.of(pid).filter(ProcessHandle::isAlive)).isEmpty();
        assertThat(directory).doesNotExist();
    }

    @Test
    void keepsADirectoryThatWasGiven() {
        Path directory = temporary.resolve("data");
        try (RedisServer server = RedisServer.builder()
                .directory(directory)
                .appendOnly("everysec")
                .start()) {
            server.call("SET", "k", "v");
        }
        try (RedisServer server = RedisServer.builder()
                .directory(directory)
                .appendOnly("everysec")
                .start()) {
            assertThat(server.call("GET", "k")).isEqualTo("v");
        }
        assertThat(directory).isNotEmptyDirectory();
    }

    @Test
    void keepsItsAppendOnlyFileOverStopAndKillOnTheSamePort() {
        try (RedisServer server = RedisServer.builder().durable().start()) {
            int port = server.port();
            server.call("SET", "k", "1");
            server.stop();
            assertThat(server.isRunning()).isFalse();
            server.restart();
            assertThat(server.call("GET", "k")).isEqualTo("1");
            server.call("SET", "k", "2");
            server.kill();
            server.restart();
            assertThat(server.call("GET", "k")).isEqualTo("2");
            assertThat(server.port()).isEqualTo(port);
        }
    }

    @Test
    void forgetsEverythingWhenItHasNoPersistence() {
        try (RedisServer server = RedisServer.start()) {
            String firstLife = runId(server);
            server.call("SET", "k", "v");
            server.restart();
            assertThat(server.call("GET", "k")).isEmpty();
            assertThat(runId(server)).isNotEqualTo(firstLife);
        }
    }

    @Test
    void restartsEmptyAndFromAnOlderCopy() {
        try (RedisServer server = RedisServer.builder().durable().start()) {
            server.call("SET", "k", "old");
            try (DataCopy copy = server.copyData()) {
                server.call("SET", "k", "new");
                server.restartFrom(copy);
                assertThat(server.call("GET", "k")).isEqualTo("old");
                server.restartEmpty();
                assertThat(server.call("GET", "k")).isEmpty();
                server.restartFrom(copy);
                assertThat(server.call("GET", "k")).isEqualTo("old");
            }
        }
    }

    @Test
    void losesTheEndOfItsAppendOnlyFile() {
        try (RedisServer server = RedisServer.builder().durable().start()) {
            server.call("SET", "k", "first");
            server.call("SET", "k", "second");
            server.killLosing(5);
            server.restart();
            assertThat(server.call("GET", "k")).isEqualTo("first");
        }
    }

    @Test
    void answersNothingWhileFrozen() throws IOException {
        try (RedisServer server = RedisServer.start();
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
            server.freeze();
            socket.setSoTimeout(200);
            socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
            assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
            server.thaw();
            socket.setSoTimeout(10_000);
            assertThat(new String(socket.getInputStream().readNBytes(7), StandardCharsets.US_ASCII))
                    .isEqualTo("+PONG\r\n");
            server.freeze();
            server.stop();
            assertThat(server.isRunning()).isFalse();
        }
    }

    @Test
    void protectsItselfWithPasswordAndUsers() throws IOException {
        try (RedisServer server = RedisServer.builder()
                .password("p w/1\"")
                .user("app", "on >secret ~lock:* +get")
                .start()) {
            assertThat(server.uri()).isEqualTo("redis://:p%20w%2F1%22@127.0.0.1:" + server.port());
            try (RespConnection stranger = new RespConnection(server.port(), Duration.ofSeconds(10))) {
                assertThatThrownBy(() -> stranger.call(List.of("GET", "k"))).hasMessageStartingWith("NOAUTH");
                assertThat(stranger.call(List.of("AUTH", "p w/1\""))).isEqualTo("OK");
                assertThat(stranger.call(List.of("AUTH", "app", "secret"))).isEqualTo("OK");
                assertThatThrownBy(() -> stranger.call(List.of("SET", "lock:a", "v")))
                        .hasMessageStartingWith("NOPERM");
            }
            server.restart();
            assertThat(server.call("SET", "anything", "v")).isEqualTo("OK");
            assertThat(server.toString()).doesNotContain("secret");
        }
    }

    @Test
    void obeysItsMemoryLimit() {
        try (RedisServer server =
                RedisServer.builder().maxMemory("2mb", "noeviction").start()) {
            assertThatThrownBy(() ->
                            IntStream.range(0, 100).forEach(i -> server.call("SET", "k" + i, "x".repeat(100_000))))
                    .isInstanceOf(ServerException.class)
                    .hasMessageContaining("OOM");
        }
    }

    @Test
    void explainsWhyItCannotStart() {
        assertThatThrownBy(() -> RedisServer.builder().config("maxmemory lots").start())
                .isInstanceOf(ServerException.class)
                .hasMessageContaining("exit code 1")
                .hasMessageContaining("maxmemory");
        assertThatThrownBy(() -> RedisServer.builder().config("port 1"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'port' is set by the launcher");
        assertThatThrownBy(() -> RedisBinary.at(temporary.resolve("absent")))
                .isInstanceOf(ServerUnavailableException.class)
                .hasMessageContaining("absent");
    }

    @Test
    void refusesAPortThatIsTaken() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertThatThrownBy(() ->
                            RedisServer.builder().port(taken.getLocalPort()).start())
                    .isInstanceOf(ServerException.class)
                    .hasMessageContaining("another program has taken the port");
        }
    }

    @Test
    void reservesItsPortWhileItIsDown() {
        try (RedisServer server = RedisServer.start()) {
            server.stop();
            assertThatThrownBy(() -> PortReservation.any(port -> port == server.port()))
                    .hasMessageContaining("no free TCP port");
            server.restart();
            assertThat(server.call("PING")).isEqualTo("PONG");
        }
    }

    @Test
    void aPortOfThisJvmIsKeptAndServesNoOutgoingConnection() {
        int port = PortReservation.forThisJvm();
        System.gc();
        assertThat(port).isLessThan(32_768);
        assertThatThrownBy(() -> PortReservation.any(other -> other == port)).hasMessageContaining("no free TCP port");
    }

    @Test
    void manyStartAtOnceOnDifferentPorts() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        try {
            Callable<Integer> launch = () -> {
                try (RedisServer server = RedisServer.start()) {
                    assertThat(server.call("PING")).isEqualTo("PONG");
                    return server.port();
                }
            };
            List<Future<Integer>> started =
                    pool.invokeAll(IntStream.range(0, 16).mapToObj(i -> launch).collect(Collectors.toList()));
            for (Future<Integer> each : started) {
                assertThat(each.get()).isPositive();
            }
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void isReadyInAFractionOfASecond() {
        RedisBinary binary = RedisBinary.find();
        long bestNanos = IntStream.range(0, 10)
                .mapToLong(i -> {
                    long startNanos = System.nanoTime();
                    try (RedisServer server =
                            RedisServer.builder().binary(binary).start()) {
                        assertThat(server.isRunning()).isTrue();
                        return System.nanoTime() - startNanos;
                    }
                })
                .min()
                .orElseThrow();
        // Printed rather than judged closely: the bound only catches a return to sleeping for seconds.
        System.out.println("fastest start of a Redis server: " + Duration.ofNanos(bestNanos));
        assertThat(Duration.ofNanos(bestNanos)).isLessThan(Duration.ofSeconds(2));
    }

    @Test
    void diesWithItsJvmWhenThatIsKilled() throws Exception {
        assertServerEndsWith(Process::destroyForcibly);
    }

    @Test
    void diesWithItsJvmWhenThatExits() throws Exception {
        assertServerEndsWith(jvm -> {
            try {
                jvm.getOutputStream().close();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void extractsTheBundledServerOnceForManyJvms() throws Exception {
        List<Process> jvms = new ArrayList<>();
        try {
            for (int i = 0; i < 4; i++) {
                ProcessBuilder builder = anotherJvm();
                // Neither chosen nor found: only the bundled server is left, and nobody has extracted it here yet.
                builder.environment().remove(RedisBinary.ENVIRONMENT);
                builder.environment().put("PATH", "");
                builder.environment().put("XDG_CACHE_HOME", temporary.toString());
                jvms.add(builder.start());
            }
            List<Path> directories = new ArrayList<>();
            for (Process jvm : jvms) {
                directories.add(Path.of(jvm.inputReader().readLine().split(" ", 2)[1]));
            }
            try (Stream<Path> cached = Files.list(temporary.resolve("leasehold"))) {
                assertThat(cached).hasSize(1).allMatch(Files::isExecutable);
            }
            for (Process jvm : jvms) {
                jvm.destroyForcibly();
            }
            // The guardians must not depend on the PATH either.
            await(() -> directories.stream().noneMatch(Files::exists));
        } finally {
            for (Process jvm : jvms) {
                jvm.destroyForcibly().waitFor();
            }
        }
    }

    private static void assertServerEndsWith(Consumer<Process> end) throws Exception {
        Process jvm = anotherJvm().start();
        try {
            String[] told = jvm.inputReader().readLine().split(" ", 2);
            ProcessHandle server = ProcessHandle.of(Long.parseLong(told[0])).orElseThrow();
            Path directory = Path.of(told[1]);
            assertThat(server.isAlive()).isTrue();
            assertThat(directory).isDirectory();
            end.accept(jvm);
            await(() -> !server.isAlive() && !Files.exists(directory));
        } finally {
            jvm.destroyForcibly().waitFor();
        }
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long startNanos = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(Duration.ofNanos(System.nanoTime() - startNanos)).isLessThan(Duration.ofSeconds(20));
            Thread.sleep(5);
        }
    }

    private static ProcessBuilder anotherJvm() {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        classPath(),
                        ServerInAnotherJvm.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT);
    }

    private static String classPath() {
        return String.join(
                System.getProperty("path.separator"),
                System.getProperty("java.class.path"),
                System.getProperty("jdk.module.path", ""));
    }

    private static String runId(RedisServer server) {
        return server.call("INFO", "server")
                .lines()
                .filter(line -> line.startsWith("run_id:"))
                .findFirst()
                .orElseThrow();
    }

    /** Starts a server from a thread that ends, tells its pid and directory, and exits at the end of its input. */
    static final class ServerInAnotherJvm {
        private ServerInAnotherJvm() {}

        public static void main(String[] args) throws Exception {
            Thread starter = new Thread(() -> {
                RedisServer server = RedisServer.start();
                System.out.println(server.pid() + " "
                        + server.call("CONFIG", "GET", "dir").lines().toList().get(1));
            });
            starter.start();
            starter.join();
            while (System.in.read() >= 0) {
                Thread.onSpinWait();
            }
            System.exit(0);
        }
    }
}
