package io.leasehold.jdbc.dialect;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The meaning of each error of a database: whether it is temporary, whether a new connection helps, and what an
 * operator must do.
 */
@Tag("quick")
class TroublesTest {

    private static void means(SqlTrouble meant, Dialect dialect, String state, int code) {
        assertThat(dialect.troubles().apply(new SQLException("an error", state, code)))
                .as("%s, state %s, code %d", dialect.database(), state, code)
                .isEqualTo(meant);
    }

    @ParameterizedTest
    @CsvSource({
        "CONTENTION,  55P03 23505 42P07 42710 40001 40P01",
        "INTERRUPTED, 57014",
        "ACCESS,      42501 3D000 28000 28P01",
        "READ_ONLY,   25006",
        "FULL,        53100 53200 53400",
        "DAMAGED,     42P01 42703 XX001 XX002",
        "UNREACHABLE, 57P01 57P02 57P03 57P05 25P03 53300 08000 08003 08006",
        "OTHER,       22001 25P02 42601 57000 XX000"
    })
    void ofPostgreSql(SqlTrouble meant, String states) {
        for (String state : states.split(" ", -1)) {
            means(meant, PostgresDialect.dialect(), state, 0);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "CONTENTION,  1062 1205 1213 1020 3572",
        "INTERRUPTED, 1317 1969 3024",
        "ACCESS,      1044 1045 1142 1143 1227 1049",
        "READ_ONLY,   1290 1792 1836",
        "FULL,        1021 1037 1041 1114",
        "DAMAGED,     1146 1054 1034 1035 126 145",
        "UNREACHABLE, 1040 1053 1203 1226 1927 2006 2013",
        "OTHER,       1 1064 1364"
    })
    void ofMariaDbAndMySql(SqlTrouble meant, String codes) {
        for (Dialect dialect : new Dialect[] {MariaDbDialect.mariaDb(), MariaDbDialect.mySql()}) {
            for (String code : codes.split(" ", -1)) {
                means(meant, dialect, "HY000", Integer.parseInt(code));
            }
            means(SqlTrouble.CONTENTION, dialect, "40001", 0);
            means(SqlTrouble.UNREACHABLE, dialect, "08000", 0);
            means(SqlTrouble.UNREACHABLE, dialect, "70100", 0);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "CONTENTION,  50200 40001 90131 23505 42101 42111",
        "ACCESS,      28000 90096",
        "READ_ONLY,   90097",
        "FULL,        90100",
        "DAMAGED,     90030 42102 42103 42104",
        "UNREACHABLE, 90007 90067 90098 90121 90020 90013 90146 90149",
        "OTHER,       1 22001 42000 50000"
    })
    void ofH2(SqlTrouble meant, String codes) {
        for (String code : codes.split(" ", -1)) {
            means(meant, H2Dialect.dialect(), "HY000", Integer.parseInt(code));
        }
        means(SqlTrouble.UNREACHABLE, H2Dialect.dialect(), "08006", 0);
    }

    /** Its internal error of two clients that make one index has a code that it shares with all others. */
    @Test
    void ofH2WhereTwoClientsMakeOneIndex() {
        SQLException made = new SQLException(
                "General error: \"java.lang.RuntimeException: object already exists: LEASEHOLD_LOCK_FENCE\"",
                "HY000",
                50000);
        assertThat(H2Dialect.dialect().troubles().apply(made)).isEqualTo(SqlTrouble.CONTENTION);
    }

    @ParameterizedTest
    @CsvSource({
        "CONTENTION,  5 6 15",
        "ACCESS,      3 8 23",
        "FULL,        13",
        "DAMAGED,     11 26",
        "UNREACHABLE, 7 10 14",
        "OTHER,       1 2 19 21"
    })
    void ofSqlite(SqlTrouble meant, String codes) {
        for (String code : codes.split(" ", -1)) {
            means(meant, SqliteDialect.dialect(false), null, Integer.parseInt(code));
        }
    }

    /** Otherwise, each try of a lazy client would be another reason, and an error in the log. */
    @Test
    void theNumberOfAConnectionIsNoPartOfAReason() {
        assertThat(SqlTrouble.firstLine(new SQLException("(conn=149) Access denied for user 'a'\nQuery is: SELECT 1")))
                .isEqualTo("Access denied for user 'a'");
    }

    @ParameterizedTest
    @CsvSource({"POSTGRESQL", "MARIADB", "H2"})
    void anErrorWithoutAStateIsAnError(String database) {
        Dialect dialect = switch (database) {
            case "POSTGRESQL" -> PostgresDialect.dialect();
            case "MARIADB" -> MariaDbDialect.mariaDb();
            default -> H2Dialect.dialect();
        };
        means(SqlTrouble.OTHER, dialect, null, 0);
    }
}
