package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.LockRuntime;
import io.lettuce.core.cluster.SlotHash;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that the names of channels tell the scripts how to publish, and that no two clients share a name. */
@Tag("quick")
final class ChannelsTest {

    @Test
    void aChannelSaysHowToPublishToIt() {
        assertThat(Channels.ofCluster("id")).isEqualTo("lock:wake:id~");
        assertThat(Channels.ofSlot("17", "id")).isEqualTo("lock:wake:{17}id");
        for (String ofCluster : List.of("lock:wake:id~", "lock:wake:{17}id")) {
            assertThat(Channels.namesWriter(ofCluster)).isFalse();
        }
    }

    @Test
    void eachClientHasAChannelOfItsOwn() {
        LockRuntime runtime = new SystemLockRuntime();
        try {
            Set<String> drawn = new HashSet<>();
            for (int i = 0; i < 20; i++) {
                drawn.add(Channels.newId(runtime));
                drawn.add(Channels.ofClient(runtime));
            }
            assertThat(drawn).hasSize(40).allMatch(name -> name.matches("lock:wake:[0-9a-f]{16}!|[0-9a-f]{16}"));
        } finally {
            runtime.close();
        }
    }

    @Test
    void theTagOfASlotBelongsToIt() {
        assertThat(SlotTags.all()).hasSize(SlotTable.SLOTS);
        for (int slot = 0; slot < SlotTable.SLOTS; slot += 97) {
            assertThat(SlotHash.getSlot(SlotTags.of(slot))).isEqualTo(slot);
        }
    }
}
