package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.Calendar;
import java.util.Locale;
import java.util.TimeZone;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.sqlite.date.FastDateFormat;

/** SQLite's driver works with the date formats that take the place of its own. */
@Tag("quick")
class SqliteDatesTest {

    private static final Timestamp MOMENT = Timestamp.from(Instant.parse("2026-02-03T04:05:06.789Z"));

    @Test
    void theFormatsAreThoseOfTheCommandLine() {
        assertThat(FastDateFormat.class.getProtectionDomain().getCodeSource())
                .isEqualTo(Main.class.getProtectionDomain().getCodeSource());
    }

    @Test
    void aDateThatIsTextIsWrittenAndRead() throws SQLException {
        Calendar india = Calendar.getInstance(TimeZone.getTimeZone("Asia/Kolkata"), Locale.ROOT);
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite::memory:?date_class=text");
                PreparedStatement insert =
                        connection.prepareStatement("select ? as moment, '2026-02-03 09:35:06.789' as there")) {
            insert.setTimestamp(1, MOMENT);
            try (ResultSet row = insert.executeQuery()) {
                assertThat(row.next()).isTrue();
                assertThat(row.getTimestamp("moment")).isEqualTo(MOMENT);
                assertThat(row.getTimestamp("there", india)).isEqualTo(MOMENT);
            }
        }
    }

    @Test
    void aTextThatIsNoDateIsRefused() throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite::memory:");
                PreparedStatement query = connection.prepareStatement("select 'soon' as moment");
                ResultSet row = query.executeQuery()) {
            assertThat(row.next()).isTrue();
            assertThatThrownBy(() -> row.getTimestamp("moment")).isInstanceOf(SQLException.class);
        }
    }
}
