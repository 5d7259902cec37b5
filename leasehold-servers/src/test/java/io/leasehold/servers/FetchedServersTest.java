package io.leasehold.servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that the servers that newer-servers has fetched start like any other, with a movable clock. */
@Tag("full")
class FetchedServersTest {

    private static List<Path> fetched(String program) {
        List<Path> fetched = FetchedServers.named(program);
        return fetched.isEmpty()
                ? abort("no " + program + " was fetched: leasehold-servers/newer-servers get trixie " + program)
                : fetched;
    }

    private static void startsAndDies(String program) {
        for (Path path : fetched(program)) {
            RedisBinary binary = RedisBinary.at(path);
            try (RedisServer server =
                    RedisServer.builder().binary(binary).durable().start()) {
                assertThat(server.call("SET", "k", "v")).isEqualTo("OK");
                server.kill();
                server.restart();
                assertThat(server.call("GET", "k")).isEqualTo("v");
                assertThat(server.call("INFO", "server")).contains(":" + binary.version());
            }
        }
    }

    @Test
    void valkey() {
        startsAndDies("valkey-server");
    }

    @Test
    void redis() {
        startsAndDies("redis-server");
    }

    @Test
    void theyAreFoundByTheirNameAlone() {
        assertThat(fetched("valkey-server")).allSatisfy(path -> assertThat(path).hasFileName("valkey-server"));
        assertThat(FetchedServers.named("no-such-server")).isEmpty();
    }
}
