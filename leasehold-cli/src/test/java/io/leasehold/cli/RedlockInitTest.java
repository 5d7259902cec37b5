package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of {@code redlock init} over three real servers: it is refused without confirmation or a quorum; afterwards the
 * servers grant at once.
 */
@Tag("full")
class RedlockInitTest {

    @TempDir
    private Path directory;

    private final List<RedisServer> servers = new ArrayList<>();
    private final StringBuilder uri = new StringBuilder();
    private StartedCli.Setup cli;

    @BeforeEach
    void startServers() {
        uri.append("redlock:?nodeTimeout=5s");
        try {
            for (int i = 0; i < 3; i++) {
                RedisServer server = RedisServer.start();
                servers.add(server);
                uri.append("&node=").append(URLEncoder.encode(server.uri(), StandardCharsets.UTF_8));
            }
        } catch (ServerUnavailableException e) {
            abort("no Redis server here: " + e.getMessage());
        }
        cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", uri.toString());
    }

    @AfterEach
    void stopServers() {
        servers.forEach(RedisServer::close);
    }

    @Test
    void declaresNewNodesBorn() {
        try (StartedCli unsaid = cli.run("redlock", "init")) {
            assertThat(unsaid.exitCode()).isEqualTo(ExitCode.USAGE.code());
            assertThat(unsaid.err()).contains("--yes");
        }
        try (StartedCli early = cli.run("run", "--no-wait", "job", "--", "true")) {
            assertThat(early.exitCode()).as(early.err()).isEqualTo(69);
            assertThat(early.err()).contains("may have forgotten");
        }
        try (StartedCli done = cli.run("redlock", "init", "--yes", "--json")) {
            assertThat(done.exitCode()).as(done.err()).isZero();
            assertThat(done.out().lines()).hasSize(3).allMatch(line -> line.contains("\"declared\":true"));
        }
        try (StartedCli run = cli.run("run", "--no-wait", "job", "--", "true")) {
            assertThat(run.exitCode()).as(run.err()).isZero();
        }
    }

    /** Without --claim, a ticket is kept for as long as the set allows, if that is shorter than the usual claim. */
    @Test
    void aRunHandsItsLockToAnother() {
        Path ticket = directory.resolve("ticket");
        try (StartedCli done = cli.run("redlock", "init", "--yes")) {
            assertThat(done.exitCode()).as(done.err()).isZero();
        }
        try (StartedCli tooLong = cli.run("run", "--export", ticket.toString(), "--claim", "1m", "job", "--", "true")) {
            assertThat(tooLong.exitCode()).isEqualTo(ExitCode.USAGE.code());
            assertThat(tooLong.err()).contains("1m", "30s");
        }
        try (StartedCli first = cli.run("run", "--export", ticket.toString(), "job", "--", "true")) {
            assertThat(first.exitCode()).as(first.err()).isZero();
            assertThat(first.err()).contains("kept for the ticket", "30s");
        }
        try (StartedCli rival = cli.run("run", "--no-wait", "job", "--", "true")) {
            assertThat(rival.exitCode()).isEqualTo(75);
        }
        try (StartedCli second = cli.run("run", "--resume", ticket.toString(), "job", "--", "true")) {
            assertThat(second.exitCode()).as(second.err()).isZero();
        }
        try (StartedCli third = cli.run("run", "--resume", ticket.toString(), "job", "--", "true")) {
            assertThat(third.exitCode()).isEqualTo(76);
        }
    }

    @Test
    void worksWhereOnlyShorterTtlsThanTheDefaultAreAccepted() {
        cli.with("LEASEHOLD_STORE", uri + "&maxTtl=20s");
        try (StartedCli done = cli.run("redlock", "init", "--yes")) {
            assertThat(done.exitCode()).as(done.err()).isZero();
        }
        try (StartedCli list = cli.run("ls")) {
            assertThat(list.exitCode()).as(list.err()).isZero();
        }
    }

    @Test
    void isRefusedWithoutAQuorumAndForOtherStores() {
        servers.get(0).kill();
        servers.get(1).kill();
        try (StartedCli refused = cli.run("redlock", "init", "--yes")) {
            assertThat(refused.exitCode()).isEqualTo(69);
            assertThat(refused.err()).contains("only 1 of 3 nodes answer");
        }
        try (StartedCli other = cli.run("--store", "sqlite:" + directory.resolve("x.db"), "redlock", "init", "--yes")) {
            assertThat(other.exitCode()).isEqualTo(78);
            assertThat(other.err()).contains("no set of nodes");
        }
    }
}
