package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that a client that only looks writes nothing to a Redis, nor the marker of a member of Redlock. */
@Tag("quick")
class ExistingServersTest {

    @Test
    void aLookWritesNoKey() {
        try (RedlockServers set = RedlockServers.start(3, "5s")) {
            for (String uri : new String[] {set.server(0).uri(), set.uri()}) {
                try (LockClient look = Leasehold.builder().store(uri).existing().connect()) {
                    assertThat(look.admin().list("*", 9)).isEmpty();
                }
            }
            for (int node = 0; node < set.size(); node++) {
                assertThat(set.server(node).call("DBSIZE")).isEqualTo("0");
            }
        }
    }
}
