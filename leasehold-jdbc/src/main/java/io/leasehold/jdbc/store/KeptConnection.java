package io.leasehold.jdbc.store;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One connection, kept open and opened anew when it broke. */
public final class KeptConnection implements Connections {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.jdbc");

    private final Opener opener;
    private @Nullable LeaseTable open;

    /** Opens connections to one store. */
    public interface Opener {
        /**
         * Opens one and checks what it finds.
         *
         * @throws io.leasehold.LockStoreException if that may not be used
         */
        LeaseTable open() throws SQLException;

        /** Whether the connection opened last leads to where one opened now would. */
        boolean leadsToStore();
    }

    /** Opens the connection at once. */
    public KeptConnection(Opener opener) throws SQLException {
        this.opener = opener;
        this.open = opener.open();
    }

    @Override
    public LeaseTable take() throws SQLException {
        LeaseTable table = open;
        if (table == null) {
            table = opener.open();
            open = table;
        }
        return table;
    }

    @Override
    public boolean leadsToStore() {
        return opener.leadsToStore();
    }

    @Override
    public void putBack(LeaseTable table, boolean broken) {
        if (broken) {
            close();
        }
    }

    @Override
    public void close() {
        LeaseTable table = open;
        open = null;
        if (table != null) {
            try {
                table.forgetStatements();
                table.connection().close();
            } catch (SQLException e) {
                LOG.debug("closing a connection failed", e);
            }
        }
    }
}
