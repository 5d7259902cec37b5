package io.leasehold.jdbc;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** A data source without a pool. */
final class SimpleDataSource implements DataSource {

    private final Source source;
    private final AtomicInteger asked = new AtomicInteger();
    private volatile Runnable before = () -> {};
    private volatile @Nullable Connection last;

    /** Opens connections. */
    interface Source {
        Connection open() throws SQLException;
    }

    SimpleDataSource(Source source) {
        this.source = source;
    }

    /** Runs the action before each connection that is opened from now on. */
    void before(Runnable action) {
        before = action;
    }

    /** The number of connections that were requested. */
    int asked() {
        return asked.get();
    }

    /** The connection that was opened last. */
    Connection last() {
        Connection opened = last;
        if (opened == null) {
            throw new AssertionError("no connection was opened");
        }
        return opened;
    }

    @Override
    public Connection getConnection() throws SQLException {
        asked.incrementAndGet();
        before.run();
        Connection opened = source.open();
        last = opened;
        return opened;
    }

    @Override
    public Connection getConnection(String username, String password) throws SQLException {
        return getConnection();
    }

    @Override
    public @Nullable PrintWriter getLogWriter() {
        return null;
    }

    @Override
    public void setLogWriter(@Nullable PrintWriter out) {}

    @Override
    public void setLoginTimeout(int seconds) {}

    @Override
    public int getLoginTimeout() {
        return 0;
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getGlobal();
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        throw new SQLException("wraps nothing");
    }

    @Override
    public boolean isWrapperFor(Class<?> type) {
        return false;
    }
}
