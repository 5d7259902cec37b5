package io.leasehold.jdbc.store;

import static io.leasehold.jdbc.store.VerbsBench.ANN;
import static io.leasehold.jdbc.store.VerbsBench.name;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.jdbc.lease.LeaseRow;
import io.leasehold.jdbc.lease.LeaseRow.Held;
import io.leasehold.jdbc.lease.StoreTime;
import io.leasehold.jdbc.store.Lives.State;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The validity of a hold, given the state of its holder and the boot that it names. */
@Tag("quick")
class LivesTest {

    private static final long NOW = 1_000_000;
    private static final long TTL = 30_000;
    private static final StoreTime TIME = new StoreTime("this boot", NOW, 1, 1);

    /** All holders have this state. */
    private record All(State state) implements Lives {
        @Override
        public String own() {
            return "own";
        }

        @Override
        public State stateOf(String life) {
            return state;
        }

        @Override
        public void sweep(Set<String> named) {}

        @Override
        public void close() {}
    }

    private static LeaseRow row(String origin, @Nullable String life, long leftNanos) {
        Held held = new Held(ANN, "holder", NOW + leftNanos, TTL, 7, life);
        return new LeaseRow(name("x"), origin, held, null, 3, 7);
    }

    private static boolean isHeld(State holder, String origin, @Nullable String life, long leftNanos) {
        LeaseRow seen = new All(holder).asOf(row(origin, life, leftNanos), TIME);
        assertThat(seen.origin()).isEqualTo("this boot");
        assertThat(seen.fence()).isEqualTo(7);
        return seen.held() != null;
    }

    @Test
    void aHoldOfThisBootEndsWithItsTtlOrTheDeathOfItsHolder() {
        for (State holder : State.values()) {
            assertThat(isHeld(holder, "this boot", "life", 1)).isEqualTo(holder != State.OVER);
            assertThat(isHeld(holder, "this boot", null, 1))
                    .as("bound to no life")
                    .isTrue();
            assertThat(isHeld(holder, "this boot", "life", 0)).isFalse();
        }
        LeaseRow freed = new All(State.OVER).asOf(row("this boot", "life", 1), TIME);
        assertThat(freed.freedAtNanos()).as("since now").isEqualTo(NOW);
    }

    /** Some containers have boot ids of their own. */
    @Test
    void aHoldOfAnotherBootCountsWhereItsHolderLivesOrItsTimesCanBeOfThisOne() {
        assertThat(isHeld(State.ALIVE, "that boot", "life", 1)).isTrue();
        assertThat(isHeld(State.ALIVE, "that boot", "life", 2 * TTL)).isTrue();
        assertThat(isHeld(State.ALIVE, "that boot", "life", 0))
                .as("its ttl is over")
                .isFalse();
        assertThat(isHeld(State.OVER, "that boot", "life", 1)).isFalse();
        for (String life : new String[] {"life", null}) {
            assertThat(isHeld(State.UNKNOWN, "that boot", life, 1)).isTrue();
            assertThat(isHeld(State.UNKNOWN, "that boot", life, TTL)).isTrue();
            assertThat(isHeld(State.UNKNOWN, "that boot", life, TTL + 1)).isFalse();
            assertThat(isHeld(State.UNKNOWN, "that boot", life, 0)).isFalse();
        }
        assertThat(isHeld(State.OVER, "that boot", null, 1))
                .as("nobody is asked after")
                .isTrue();
        LeaseRow free = new LeaseRow(name("x"), "that boot", null, null, 3, 7);
        assertThat(new All(State.ALIVE).asOf(free, TIME).held()).isNull();
    }

    @Test
    void onlyWhatIsKnownIsSaid() {
        assertThat(new All(State.OVER).isOver("life")).isTrue();
        assertThat(new All(State.UNKNOWN).isOver("life")).isFalse();
        assertThat(new All(State.ALIVE).isOver("life")).isFalse();
        assertThat(Lives.UNKNOWN.own()).isNull();
        assertThat(Lives.UNKNOWN.stateOf("life")).isEqualTo(State.UNKNOWN);
        assertThat(Lives.UNKNOWN.isOver("life")).isFalse();
        assertThat(Lives.UNKNOWN.coverChildren()).isEmpty();
    }
}
