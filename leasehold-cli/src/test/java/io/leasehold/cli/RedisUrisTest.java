package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.servers.RedisServer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command line takes what the library takes at Redis, over the client library that knows it. */
@Tag("quick")
class RedisUrisTest {

    @TempDir
    private Path directory;

    @Test
    void anOptionThatOnlyLettuceKnowsIsTaken() {
        try (RedisServer server = RedisServer.start()) {
            assertThat(ls(server.uri() + "?toldAtOnce=true").exitCode()).isZero();
            assertThat(ls(server.uri() + "/0?keys=job:*&toldAtOnce=true").exitCode())
                    .isZero();
            assertThat(ls(server.uri().replace("redis:", "REDIS:")).exitCode()).isZero();
        }
    }

    @Test
    void anUnknownSchemeIsNotTakenForRedis() {
        assertThat(ls("redis-sentinels://127.0.0.1:1/main").err())
                .contains("is not known")
                .contains("redis-sentinel");
    }

    @Test
    void thePasswordOfAFileIsUsed() throws Exception {
        try (RedisServer server = RedisServer.builder().password("secret").start()) {
            Path file = Files.writeString(directory.resolve("password"), "secret\n");
            String uri = "redis://127.0.0.1:" + server.port();
            StartedCli.Setup cli = new StartedCli.Setup(directory).with("LEASEHOLD_STORE", uri);
            assertThat(cli.ask("ls").exitCode()).isEqualTo(ExitCode.ACCESS.code());
            Answer answer = cli.with("LEASEHOLD_PASSWORD_FILE", file.toString()).ask("ls");
            assertThat(answer.exitCode()).as(answer.err()).isZero();
        }
    }

    private Answer ls(String store) {
        return new StartedCli.Setup(directory).with("LEASEHOLD_STORE", store).ask("ls");
    }
}
