package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.jdbc.dialect.SqlTrouble;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.toolkit.Failure;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The meaning of a database's error for the caller. */
@Tag("quick")
class SqlFailuresTest {

    @ParameterizedTest
    @EnumSource
    void onlyWhatAPersonHasToMendLasts(SqlTrouble trouble) {
        SQLException cause = new SQLException("went wrong\nat line 3", "HY000", 77);
        Failure failure = SqlFailures.of(trouble, "acquire of x", "the store", cause);
        boolean lasts = trouble == SqlTrouble.ACCESS || trouble == SqlTrouble.DAMAGED;
        assertThat(failure.kind()).isEqualTo(lasts ? FailureKind.PERMANENT : FailureKind.NO_EFFECT);
        assertThat(failure.error())
                .isInstanceOf(
                        trouble == SqlTrouble.ACCESS ? StoreAccessException.class : StoreUnavailableException.class)
                .hasCause(cause)
                .hasMessageStartingWith("acquire of x at the store: ")
                .hasMessageEndingWith(" (went wrong, code 77)");
    }

    @Test
    void anErrorIsToldInOneLineWhateverItSays() {
        assertThat(said("went wrong")).endsWith(" (went wrong, code 0)");
        assertThat(said("  went\nwrong")).endsWith(" (went, code 0)");
        assertThat(said("\nwrong")).endsWith(" (, code 0)");
        assertThat(said(null)).endsWith(" (null, code 0)");
    }

    private static String said(@Nullable String message) {
        return String.valueOf(SqlFailures.of(SqlTrouble.OTHER, "a look", "the store", new SQLException(message))
                .error()
                .getMessage());
    }

    @Test
    void whatWasFoundAtTheOpeningLastsWhereAPersonHasToMendIt() {
        assertThat(SqlFailures.of(new StoreAccessException("no right", null)).kind())
                .isEqualTo(FailureKind.PERMANENT);
        assertThat(SqlFailures.of(new UnsafeStoreException("not safe", null)).kind())
                .isEqualTo(FailureKind.PERMANENT);
        assertThat(SqlFailures.of(new StoreUnavailableException("away", null)).kind())
                .isEqualTo(FailureKind.NO_EFFECT);
    }
}
