package io.leasehold.jdbc.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that a row that differs in any part is not like another: the store would not be told of the difference. */
@Tag("quick")
class LeaseRowTest {

    private static final LockName NAME = LockName.exactly("a");
    private static final LeaseRow.Waiter WAITER = new LeaseRow.Waiter(LeaseRow.READERS, 5);

    private static LeaseRow.Held held(long expiresAtNanos) {
        return new LeaseRow.Held(LeaseRow.READERS, "holder", expiresAtNanos, 9, 3, "life");
    }

    @Test
    void rowsAreAlikeExactlyIfTheyAreEqual() {
        LeaseRow row = new LeaseRow(NAME, "origin", held(7), WAITER, 11, 13);
        assertThat(row.isLike(new LeaseRow(
                        NAME,
                        "origin",
                        held(7),
                        new LeaseRow.Waiter(OwnerToken.fromHex(LeaseRow.READERS.hex()), 5),
                        11,
                        13)))
                .isTrue();
        assertThat(LeaseRow.class.getRecordComponents())
                .as("each has a row below that differs in it alone")
                .hasSize(6);
        assertThat(List.of(
                        new LeaseRow(LockName.exactly("b"), "origin", held(7), WAITER, 11, 13),
                        new LeaseRow(NAME, "other", held(7), WAITER, 11, 13),
                        new LeaseRow(NAME, "origin", held(8), WAITER, 11, 13),
                        new LeaseRow(NAME, "origin", null, WAITER, 11, 13),
                        new LeaseRow(NAME, "origin", held(7), null, 11, 13),
                        new LeaseRow(NAME, "origin", held(7), new LeaseRow.Waiter(LeaseRow.READERS, 6), 11, 13),
                        new LeaseRow(NAME, "origin", held(7), WAITER, 12, 13),
                        new LeaseRow(NAME, "origin", held(7), WAITER, 11, 14)))
                .noneMatch(row::isLike)
                .noneMatch(other -> other.isLike(row));
    }
}
