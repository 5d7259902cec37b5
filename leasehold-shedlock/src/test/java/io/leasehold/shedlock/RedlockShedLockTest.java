package io.leasehold.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisServer;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Tests over a quorum of three servers. */
@Tag("full")
class RedlockShedLockTest extends StoreShedLockTest {

    private static final List<RedisServer> SERVERS = new ArrayList<>();

    /** A server that has just started may have forgotten what it granted, and grants nothing for the longest ttl. */
    @BeforeAll
    static void start() throws Exception {
        for (int i = 0; i < 3; i++) {
            SERVERS.add(RedisServer.builder().start());
        }
        try (LockClient client = connected();
                Lease lease = client.named("first").tryAcquire(Duration.ofMinutes(1))) {
            assertThat(lease).isNotNull();
        }
    }

    @AfterAll
    static void stop() {
        SERVERS.forEach(RedisServer::close);
    }

    @Override
    LockClient connect() {
        return connected();
    }

    private static LockClient connected() {
        return Leasehold.connect(SERVERS.stream()
                .map(server -> "node=" + URLEncoder.encode(server.uri(), StandardCharsets.UTF_8))
                .collect(Collectors.joining("&", "redlock:?", "&maxTtl=4s&nodeTimeout=1s")));
    }
}
