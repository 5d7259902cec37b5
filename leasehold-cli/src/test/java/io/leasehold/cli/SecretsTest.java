package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a password in the store's URI stays hidden: in the streams, in the report, and from the command. */
@Tag("full")
class SecretsTest {

    private static final String SECRET = "s3cret";

    @TempDir
    private Path directory;

    private StartedCli.Setup cli;

    @BeforeEach
    void logAllThereIs() {
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_LOG", "debug");
    }

    private static RedisServer redisWithPassword(String password) {
        try {
            return RedisServer.builder().password(password).start();
        } catch (ServerUnavailableException e) {
            abort(e.getMessage());
            throw e;
        }
    }

    /** Runs {@code true} under the lock, with and without a report; it must fail with this code and keep the secret. */
    private void failsWithoutTelling(ExitCode code, String uri) {
        for (List<String> options : List.of(List.of("run"), List.of("run", "--json"))) {
            List<String> arguments = new ArrayList<>(List.of("--store", uri));
            arguments.addAll(options);
            arguments.addAll(List.of("-w", "2s", "job", "--", "true"));
            StartedCli run = cli.run(arguments.toArray(String[]::new));
            assertThat(run.out()).doesNotContain(SECRET);
            assertThat(run.err()).doesNotContain(SECRET);
            assertThat(run.exitCode()).as(run::err).isEqualTo(code.code());
            assertThat(run.errLines())
                    .anyMatch(line -> line.startsWith(options.size() == 1 ? "leasehold: " : "{\"command\":\"run\""));
        }
    }

    @Test
    void anUnreachableServer() throws IOException {
        int closedPort;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            closedPort = socket.getLocalPort();
        }
        failsWithoutTelling(ExitCode.STORE_UNAVAILABLE, "redis://:" + SECRET + "@127.0.0.1:" + closedPort);
        failsWithoutTelling(ExitCode.STORE_UNAVAILABLE, "redis://app:" + SECRET + "@127.0.0.1:" + closedPort);
    }

    @Test
    void aWrongPassword() {
        try (RedisServer server = redisWithPassword("another")) {
            failsWithoutTelling(ExitCode.ACCESS, "redis://:" + SECRET + "@127.0.0.1:" + server.port());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://:s3cret@127.0.0.1:no-port",
                "redis://:s3cret@",
                "nowhere://:s3cret@host",
                "jdbc:h2:mem:x;PASSWORD=s3cret;NO_SUCH=SETTING",
                "redis://host?password=s3cret"
            })
    void anUriThatIsRefused(String uri) {
        StartedCli run = cli.run("--store", uri, "run", "-w", "2s", "job", "--", "true");

        assertThat(run.exitCode()).as(run::err).isNotZero();
        assertThat(run.out() + run.err()).doesNotContain(SECRET);
    }

    @Test
    void theCommandDoesNotFindThePasswordInItsEnvironment() {
        try (RedisServer server = redisWithPassword(SECRET)) {
            StartedCli run = cli.with("LEASEHOLD_STORE", server.uri()).run("run", "--json", "job", "--", "env");

            assertThat(run.exitCode()).as(run::err).isZero();
            assertThat(run.out()).contains("LEASEHOLD_LOCK=job").doesNotContain("LEASEHOLD_STORE", SECRET);
            assertThat(run.err()).doesNotContain(SECRET);
        }
    }

    @Test
    void aPasswordInAFileIsHiddenToo() throws IOException {
        Path file = Files.writeString(directory.resolve("password"), SECRET + "\n");
        try (RedisServer server = redisWithPassword(SECRET)) {
            StartedCli.Setup withFile = cli.with("LEASEHOLD_STORE", "redis://127.0.0.1:" + server.port())
                    .with("LEASEHOLD_PASSWORD_FILE", file.toString());
            StartedCli run = withFile.run("run", "--json", "job", "--", "env");
            assertThat(run.exitCode()).as(run::err).isZero();
            assertThat(run.out() + run.err()).doesNotContain(SECRET);

            Files.writeString(file, "not-" + SECRET);
            StartedCli refused = withFile.run("run", "-w", "2s", "job", "--", "true");
            assertThat(refused.exitCode()).as(refused::err).isEqualTo(ExitCode.ACCESS.code());
            assertThat(refused.out() + refused.err()).doesNotContain(SECRET);

            Files.delete(file);
            StartedCli missing = withFile.run("ls");
            assertThat(missing.exitCode()).as(missing::err).isEqualTo(ExitCode.STORE_UNAVAILABLE.code());
            assertThat(missing.err()).contains("the password file " + file);
        }
    }

    @Test
    void theCommandFindsAStoreWithoutSecrets() {
        String store = "sqlite:" + directory.resolve("locks.db");

        assertThat(cli.with("LEASEHOLD_STORE", store)
                        .run("run", "job", "--", "env")
                        .out())
                .contains("LEASEHOLD_STORE=" + store);
    }
}
