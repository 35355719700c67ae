import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.Base64;
import java.util.Properties;

/** Asks a gateway by JDBC: each line of its output is a step's name, and what it gave. */
public class Asking {
    private static Connection connection;

    private interface Step { String run() throws Exception; }

    private static void step(String name, Step step) {
        String told;
        try {
            told = step.run();
        } catch (SQLException error) {
            told = "error " + error.getErrorCode() + " " + error.getMessage();
        } catch (Exception error) {
            told = "failed " + error;
        }
        System.out.println(name + "\t" + String.valueOf(told).replace("\n", "\\n"));
    }

    /** All rows: values with commas between, rows with semicolons. */
    private static String all(ResultSet rows) throws SQLException {
        StringBuilder found = new StringBuilder();
        int width = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            for (int i = 1; i <= width; i++) {
                Object value = rows.getObject(i);
                if (value instanceof byte[]) {
                    value = Base64.getEncoder().encodeToString((byte[]) value);
                }
                found.append(i > 1 ? "," : "").append(value);
            }
            found.append(";");
        }
        return found.toString();
    }

    /** One column of all rows. */
    private static String column(ResultSet rows, String name) throws SQLException {
        StringBuilder found = new StringBuilder();
        while (rows.next()) {
            found.append(rows.getObject(name)).append(";");
        }
        return found.toString();
    }

    private static String asked(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return all(statement.executeQuery(sql));
        }
    }

    private interface Set { void on(PreparedStatement statement) throws SQLException; }

    private static void set(String name, Set set) {
        step("set " + name, () -> {
            try (PreparedStatement statement = connection.prepareStatement("SELECT ? AS v")) {
                set.on(statement);
                return all(statement.executeQuery());
            }
        });
    }

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        for (int i = 1; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            properties.setProperty(pair[0], pair[1]);
        }
        connection = DriverManager.getConnection(arguments[0], properties);
        metadata(connection.getMetaData());
        fetched();
        parameters();
        session();
        connection.close();
    }

    private static void metadata(DatabaseMetaData about) {
        step("product", () -> about.getDatabaseProductName() + " " + about.getDatabaseProductVersion());
        step("user", about::getUserName);
        step("catalogs", () -> column(about.getCatalogs(), "TABLE_CAT"));
        step("schemas", () -> column(about.getSchemas("lake", null), "TABLE_SCHEM"));
        step("tables", () -> column(about.getTables("lake", "shop", null, new String[] {"TABLE"}), "TABLE_NAME"));
        step("tables like", () -> column(about.getTables(null, null, "sal%", null), "TABLE_NAME"));
        step("columns", () -> column(about.getColumns("lake", "shop", "kinds", null), "COLUMN_NAME"));
        step("column types", () -> column(about.getColumns("lake", "shop", "kinds", null), "TYPE_NAME"));
        step("column codes", () -> column(about.getColumns("lake", "shop", "kinds", null), "DATA_TYPE"));
        step("types", () -> column(about.getTypeInfo(), "TYPE_NAME"));
        step("table types", () -> column(about.getTableTypes(), "TABLE_TYPE"));
        step("primary keys", () -> all(about.getPrimaryKeys("lake", "shop", "kinds")));
        step("imported keys", () -> all(about.getImportedKeys("lake", "shop", "kinds")));
        step("procedures", () -> all(about.getProcedures(null, null, null)));
        step("user types", () -> all(about.getUDTs(null, null, null, null)));
        step("attributes", () -> all(about.getAttributes(null, null, null, null)));
        step("pseudo columns", () -> all(about.getPseudoColumns(null, null, null, null)));
    }

    private static void fetched() {
        String names = "id, truth, whole, large, single, twice, money, exact, words, day, local, moment, raw, four";
        for (int id = 0; id < 6; id++) {
            int which = id;
            step("row " + id, () -> asked("SELECT " + names + " FROM kinds WHERE id = " + which));
        }
        step("column classes", () -> {
            try (Statement statement = connection.createStatement()) {
                ResultSetMetaData about = statement.executeQuery("SELECT " + names + " FROM kinds WHERE id = 0").getMetaData();
                StringBuilder found = new StringBuilder();
                for (int i = 1; i <= about.getColumnCount(); i++) {
                    found.append(about.getColumnTypeName(i)).append("=").append(about.getColumnClassName(i)).append(";");
                }
                return found.toString();
            }
        });
        step("count of many", () -> {
            try (Statement statement = connection.createStatement()) {
                ResultSet rows = statement.executeQuery("SELECT id FROM sales");
                long count = 0, sum = 0;
                while (rows.next()) {
                    count++;
                    sum += rows.getLong(1);
                }
                return count + " " + sum;
            }
        });
    }

    private static void parameters() {
        set("boolean", s -> s.setBoolean(1, true));
        set("byte", s -> s.setByte(1, (byte) -1));
        set("short", s -> s.setShort(1, (short) 2));
        set("int", s -> s.setInt(1, -3));
        set("long", s -> s.setLong(1, Long.MAX_VALUE));
        set("float", s -> s.setFloat(1, 1.5f));
        set("double", s -> s.setDouble(1, -2.5));
        set("nan", s -> s.setDouble(1, Double.NaN));
        set("decimal", s -> s.setBigDecimal(1, new BigDecimal("-12.340")));
        set("string", s -> s.setString(1, "it's ? \\ \"x\" --"));
        set("bytes", s -> s.setBytes(1, new byte[] {0, (byte) 255}));
        set("date", s -> s.setDate(1, Date.valueOf("2024-02-29")));
        set("timestamp", s -> s.setTimestamp(1, Timestamp.valueOf("2024-02-29 12:34:56.789")));
        for (int type : new int[] {Types.BOOLEAN, Types.INTEGER, Types.BIGINT, Types.DOUBLE, Types.DECIMAL, Types.VARCHAR, Types.DATE, Types.TIMESTAMP, Types.VARBINARY}) {
            set("null " + type, s -> s.setNull(1, type));
        }
        step("again", () -> {
            try (PreparedStatement statement = connection.prepareStatement("SELECT id, city FROM sales WHERE id = ? OR id = ? ORDER BY id LIMIT ?")) {
                String names = statement.getMetaData().getColumnName(2) + " " + statement.getParameterMetaData().getParameterCount();
                StringBuilder found = new StringBuilder(names);
                for (long id = 0; id < 3; id++) {
                    statement.setLong(1, id);
                    statement.setLong(2, 59_999);
                    statement.setInt(3, 2);
                    found.append(" ").append(all(statement.executeQuery()));
                }
                return found.toString();
            }
        });
    }

    private static void session() {
        step("max rows", () -> {
            try (Statement statement = connection.createStatement()) {
                statement.setMaxRows(7);
                statement.setQueryTimeout(60);
                ResultSet rows = statement.executeQuery("SELECT id FROM sales");
                int count = 0;
                while (rows.next()) {
                    count++;
                }
                return String.valueOf(count);
            }
        });
        step("transaction", () -> {
            connection.setAutoCommit(false);
            String first = asked("SELECT count(*) FROM sales");
            connection.commit();
            String second = asked("SELECT 1");
            connection.rollback();
            connection.setAutoCommit(true);
            return first + second;
        });
        step("valid", () -> String.valueOf(connection.isValid(5)));
        step("schema", () -> {
            connection.setSchema("other");
            String found = asked("SELECT current_schema, count(*) FROM \"a b\"");
            asked("SHOW TABLES");
            try (Statement statement = connection.createStatement()) {
                statement.execute("USE lake.shop");
            }
            return found + connection.getSchema();
        });
        step("session property", () -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute("SET SESSION result_cache = false");
            }
            return asked("SHOW SESSION LIKE 'result%'");
        });
        step("cubes", () -> asked("SHOW CUBES"));
        step("update", () -> {
            try (Statement statement = connection.createStatement()) {
                return String.valueOf(statement.executeUpdate("INSERT INTO sales VALUES (1)"));
            }
        });
        step("batch", () -> {
            try (Statement statement = connection.createStatement()) {
                statement.addBatch("DELETE FROM sales");
                return String.valueOf(statement.executeBatch().length);
            }
        });
        step("error", () -> asked("SELECT nope FROM sales"));
        step("cancel", () -> {
            try (Statement statement = connection.createStatement()) {
                ResultSet rows = statement.executeQuery("SELECT * FROM sales");
                rows.next();
                statement.cancel();
                try {
                    while (rows.next()) {
                        rows.getLong(1);
                    }
                    return "read to the end";
                } catch (SQLException error) {
                    return "ended";
                }
            }
        });
        step("after", () -> asked("SELECT count(*) FROM sales"));
    }
}
