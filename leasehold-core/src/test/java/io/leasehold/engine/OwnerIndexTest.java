package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.OwnerToken;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The index finds what was added and not removed, also where many owner tokens want the same place. */
@Tag("quick")
final class OwnerIndexTest {

    private record Added(OwnerToken owner, Object value) {}

    /** Returns a token that is sought from this place on; two of the same place differ by the number. */
    private static OwnerToken owner(int number, int place) {
        return OwnerToken.fromHex(String.format("%032x%08x", number, place));
    }

    @Test
    void itFindsWhatAListFindsInAnyOrderOfSteps() {
        for (int seed = 0; seed < 500; seed++) {
            Random random = new Random(seed);
            int places = 1 + random.nextInt(20);
            OwnerIndex<Object> index = new OwnerIndex<>();
            List<Added> expected = new ArrayList<>();
            for (int step = 0; step < 150; step++) {
                OwnerToken owner = owner(random.nextInt(3), 12 + random.nextInt(places));
                if (random.nextInt(100) < 55) {
                    Object value = new Object();
                    index.add(owner, value);
                    expected.add(new Added(owner, value));
                } else if (!expected.isEmpty()) {
                    Added gone = expected.remove(random.nextInt(expected.size()));
                    index.remove(gone.owner(), gone.value());
                }
                Object[] ofOwner = expected.stream()
                        .filter(added -> added.owner().equals(owner))
                        .map(Added::value)
                        .toArray();
                assertThat(index.find(owner)).as("seed %d", seed).containsExactlyInAnyOrder(ofOwner);
            }
            assertThat(index.all())
                    .as("seed %d", seed)
                    .containsExactlyInAnyOrder(
                            expected.stream().map(Added::value).toArray());
            expected.forEach(added -> index.remove(added.owner(), added.value()));
            assertThat(index.isEmpty()).as("seed %d", seed).isTrue();
        }
    }

    @Test
    void whatIsNotThereIsNotRemoved() {
        OwnerIndex<Object> index = new OwnerIndex<>();
        Object value = new Object();
        index.remove(owner(1, 1), value);
        index.add(owner(1, 1), value);
        index.remove(owner(2, 1), value);
        index.remove(owner(1, 1), new Object());
        assertThat(index.find(owner(1, 1))).containsExactly(value);
        index.remove(owner(1, 1), value);
        index.remove(owner(1, 1), value);
        assertThat(index.isEmpty()).isTrue();
        assertThat(index.find(owner(1, 1))).isEmpty();
    }
}
